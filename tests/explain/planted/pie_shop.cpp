// Pies go through a graph: dough is made for many at once, and one oven bakes them.
//
// category: serial_dependency | task_idle
// certain: any
// build: tbb
// why: The oven takes one pie at a time, and baking is most of the work.

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::uint64_t expected = 794143;
constexpr std::uint64_t pies_of_day = 100;

[[gnu::noinline]] std::uint64_t knead(std::uint64_t pie, int turns) {
  for (int i = 0; i < turns; ++i) pie = (pie ^ (pie >> 29)) * 0xbf58476d1ce4e5b9ULL + 1;
  return pie;
}

[[gnu::noinline]] std::uint64_t bake(std::uint64_t pie) {
  for (int i = 0; i < 100'000; ++i) pie = (pie ^ (pie >> 31)) * 0x94d049bb133111ebULL + 1;
  return pie;
}

std::uint64_t open_shop() {
  namespace flow = tbb::flow;
  flow::graph graph;
  std::uint64_t sold = 0;
  flow::function_node<std::uint64_t, std::uint64_t> dough(
      graph, flow::unlimited, [](std::uint64_t pie) { return knead(pie, 8000); });
  flow::function_node<std::uint64_t, std::uint64_t> oven(graph, flow::serial, bake);
  flow::function_node<std::uint64_t, int> counter(graph, flow::serial, [&sold](std::uint64_t pie) {
    sold += pie >> 50;
    return 0;
  });
  flow::make_edge(dough, oven);
  flow::make_edge(oven, counter);
  for (std::uint64_t pie = 0; pie < pies_of_day; ++pie) dough.try_put(pie);
  graph.wait_for_all();
  return sold;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int days = 1 + static_cast<int>(seconds * 60);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  std::uint64_t total = 0;
  for (int day = 0; day < days; ++day) total += open_shop();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / days));
  return total == expected * days ? 0 : 1;
}
