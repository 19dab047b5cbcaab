// Solves the bending of steel plates; the equation solver is a licensed product with few seats.
//
// category: semaphore
// name: seats | counting_semaphore | Licence
// made: solve | main
// certain: yes
// why: The licence has one seat, and most of the work on a plate needs it.

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

namespace {

class LicenceServer {
 public:
  explicit LicenceServer(int seats) : seats_(seats) {}

  class Seat {
   public:
    explicit Seat(LicenceServer& server) : server_(server) { server_.seats_.acquire(); }
    ~Seat() { server_.seats_.release(); }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

   private:
    LicenceServer& server_;
  };

 private:
  std::counting_semaphore<64> seats_;
};

struct Plate {
  std::vector<double> load;
  std::vector<double> bend;
};

Plate mesh(int number) {
  Plate plate;
  plate.load.resize(400);
  plate.bend.assign(400, 0.0);
  for (std::size_t i = 0; i < plate.load.size(); ++i) {
    plate.load[i] = std::sin(0.01 * static_cast<double>(i) * (1 + number % 5));
  }
  return plate;
}

[[gnu::noinline]] void relax(Plate& plate) {
  for (int sweep = 0; sweep < 120; ++sweep) {
    for (std::size_t i = 1; i + 1 < plate.bend.size(); ++i) {
      plate.bend[i] = 0.5 * (plate.bend[i - 1] + plate.bend[i + 1] + 0.01 * plate.load[i]);
    }
  }
}

double solve(LicenceServer& server, int number) {
  Plate plate = mesh(number);
  {
    const LicenceServer::Seat seat(server);
    relax(plate);
  }
  double sum = 0;
  for (const double each : plate.bend) sum += each * each;
  return sum;
}

struct Office {
  LicenceServer& server;
  int plates;
  std::atomic<int> next{0};
  std::mutex report_mutex{};
  int finished = 0;
  double energy = 0;

  void engineer() {
    int mine = 0;
    double sum = 0;
    for (int number = next++; number < plates; number = next++) {
      const double energy_of_plate = solve(server, number);
      if (std::isfinite(energy_of_plate)) ++mine;
      sum += energy_of_plate;
    }
    const std::lock_guard<std::mutex> lock(report_mutex);
    finished += mine;
    energy += sum;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
#ifdef WITHOUT_CAUSE
  LicenceServer server(threads);
#else
  LicenceServer server(1);
#endif
  Office office{server, 2 + static_cast<int>(seconds * 5'000)};
  std::vector<std::thread> engineers;
  for (int t = 0; t < threads; ++t) engineers.emplace_back([&] { office.engineer(); });
  for (std::thread& each : engineers) each.join();
  std::printf("%d plates, energy %.3f\n", office.finished, office.energy);
  return office.finished == office.plates ? 0 : 1;
}
