// `tmk-sat write`: reads a file, maps it, and writes it again from its objects.
#include <memory>

#include "command.hpp"
#include "map.hpp"
#include "output.hpp"
#include "write.hpp"

namespace sat {

Command add_write(students::Options options) {
  struct Given {
    Input input;
    std::string out;
  };
  const auto given = std::make_shared<Given>();
  options.text("file", given->input.path, "The SAT file").required().type("FILE");
  add_threads(options, given->input.threads);
  options.text("-o,--out", given->out, "The file to write").required().type("FILE");
  return [given] {
    name_file(given->input, [&] {
      Team team = given->input.team();
      const Model model = map(read(load(given->input.path, team.check()), team), team);
      Output output(given->out);
      output.write(write(model, team.check()));
      print(given->out + ": " + std::to_string(output.commit()) + " bytes\n");
    });
    return Outcome::kWhole;
  };
}

}  // namespace sat
