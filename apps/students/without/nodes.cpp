// `node` and `pipeline` where the program was built without the libraries of the nodes.
#include "../complaint.hpp"
#include "../options.hpp"

namespace students {
namespace {

Command refuse(CLI::App& app) {
  app.allow_extras();
  return [] {
    throw Failure(
        "This tmk-students was built without nodes, because ZeroMQ or LMDB was missing; install "
        "them (apt-get install libzmq3-dev cppzmq-dev liblmdb-dev) and build it again "
        "(./threadmark setup --apps).");
  };
}

}  // namespace

Command add_node(CLI::App& app) { return refuse(app); }
Command add_pipeline(CLI::App& app) { return refuse(app); }

}  // namespace students
