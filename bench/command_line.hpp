// The command line of an executable, for the harnesses alone, because each file that includes CLI11
// takes seconds to compile.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "bad_input.hpp"

namespace bench {

// Throws BadInput for an invalid command line; returns an exit code when there is no more work
// (--help).
inline int parse(CLI::App& app, int argc, char** argv, const std::function<int()>& then) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + "; --help lists the options");
  }
  return then();
}

}  // namespace bench
