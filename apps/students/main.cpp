// `tmk-students`: the table of its commands.
#include <array>

#include "options.hpp"
#include "program.hpp"

namespace {

template <students::Command (*add)(students::Options)>
students::Run whole(students::Options options) {
  return [run = add(options)] {
    run();
    return students::kOk;
  };
}

constexpr std::array<students::Entry, 7> kCommands{{
    {"generate", "Write the four files", whole<students::add_generate>},
    {"limit", "Write the same bytes from memory: the limit for generate",
     whole<students::add_limit>},
    {"merge", "Join the four files by student number, and grade", whole<students::add_merge>},
    {"node", "Join one of the four files with what the node before sends",
     whole<students::add_node>},
    {"pipeline", "Start all four nodes here and see to them: the result of merge",
     whole<students::add_pipeline>},
    {"bench", "Compare all writers in turns; bench --help explains its options",
     whole<students::add_bench>},
    {"writers",
     "List the writers: name, threads (0: --threads), the writer with which it is compared, "
     "whether it flushes each line, what it is",
     whole<students::add_writers>},
}};

}  // namespace

int main(int argc, char** argv) {
  return students::main_of(
      {.name = "tmk-students",
       .about = "Test data of students in four files, as fast as they can be written, or as slowly "
                "as threads that take turns write them; and the join of the four files.",
       .no_memory = "There is not enough memory; choose a smaller --bufsize (-b) or --memory, or "
                    "fewer --threads.",
       .commands = kCommands},
      argc, argv);
}
