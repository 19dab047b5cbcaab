// The card's code on time_format: the same calendar time as localtime_r, at every minute round the
// changes of zones, one of which is at a minute past the hour.
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>

namespace {

std::time_t offset_at(std::time_t at) {
  std::tm there{};
  assert(localtime_r(&at, &there) != nullptr);
  return there.tm_gmtoff;
}

void compare(std::time_t at) {
  // snippet
  std::tm there{};
  assert(localtime_r(&at, &there) != nullptr);
  assert(int(date.year()) == there.tm_year + 1900);
  assert(int(unsigned(date.month())) == there.tm_mon + 1);
  assert(int(unsigned(date.day())) == there.tm_mday);
  assert(clock.hours().count() == there.tm_hour && clock.minutes().count() == there.tm_min);
  assert(clock.seconds().count() == there.tm_sec);
}

void around(std::time_t change) {
  for (std::time_t at = change - 7200; at < change + 7200; at += 20) compare(at);
}

}  // namespace

int main() {
  // Rules instead of names: they need no files. The first is Berlin's, the second Newfoundland's
  // of 2010, whose clocks changed at one minute past midnight.
  for (const char* rule : {"CET-1CEST,M3.5.0,M10.5.0/3", "NST3:30NDT,M3.2.0/0:01,M11.1.0/0:01"}) {
    assert(setenv("TZ", rule, 1) == 0);
    tzset();
    std::thread other([] {
      around(1743296400);  // Berlin, 30 March 2025
      around(1268537460);  // Newfoundland, 14 March 2010, 0:01
    });
    std::thread third([] {
      around(1761440400);  // Berlin, 26 October 2025
      around(1289097060);  // Newfoundland, 7 November 2010, 0:01
      around(951782400);   // a 29 February
      around(126230400);   // 1974
    });
    other.join();
    third.join();
  }
}
