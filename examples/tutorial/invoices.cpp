// The program of docs/tutorial.md: it writes invoices on several threads, and is no faster by them.
// Every thread works on invoices of its own, so nothing in this file looks shared.
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kInvoices = 2'000'000;

std::string invoice(int number) {
  std::ostringstream text;
  text << "invoice " << number << ": " << std::fixed << std::setprecision(2) << number * 0.07;
  return text.str();
}

}  // namespace

int main(int count, char** words) {
  const int threads = count > 1 ? std::atoi(words[1]) : 1;
  if (threads < 1 || threads > 1024) {
    std::cerr << "usage: invoices THREADS, from 1 to 1024\n";
    return 2;
  }
  std::locale::global(std::locale(""));  // the language of the user, as many programs do
  std::vector<std::size_t> bytes(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([thread, threads, &bytes] {
      std::size_t sum = 0;
      for (int number = thread; number < kInvoices; number += threads) {
        sum += invoice(number).size();
      }
      bytes[static_cast<std::size_t>(thread)] = sum;
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::size_t sum = 0;
  for (const std::size_t each : bytes) sum += each;
  std::cout << sum << " bytes\n";
}
