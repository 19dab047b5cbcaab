// `tmk-sat`: the table of its commands.
#include <array>

#include "command.hpp"
#include "students/program.hpp"

namespace {

template <sat::Command (*add)(students::Options)>
students::Run ended(students::Options options) {
  return [run = add(options)] {
    return run() == sat::Outcome::kWhole ? students::kOk : students::kFailed;
  };
}

constexpr std::array<students::Entry, 7> kCommands{{
    {"info", "Version, units, who wrote the file, and records by class", ended<sat::add_info>},
    {"check", "Every reference and field, lists and rings, losses, and the round trip",
     ended<sat::add_check>},
    {"map", "Make linked objects in two passes, and say how long each took", ended<sat::add_map>},
    {"convert", "Make shapes of Open CASCADE and write them: STEP, BREP, STL, glTF, a picture",
     ended<sat::add_convert>},
    {"write", "Write the file again from its objects", ended<sat::add_write>},
    {"generate", "Write a valid file of any size", ended<sat::add_generate>},
    {"replicate", "Write a file with the bodies of another many times", ended<sat::add_replicate>},
}};

}  // namespace

int main(int argc, char** argv) {
  return students::main_of(
      {.name = "tmk-sat",
       .about = "Files of the solid modeller ACIS as text (SAT): read, checked, mapped, written.",
       .no_memory = "There is not enough memory for the file; free some, or split the file.",
       .commands = kCommands},
      argc, argv);
}
