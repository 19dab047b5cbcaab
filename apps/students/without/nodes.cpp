// `node` and `pipeline` for a program that was built without the libraries of the nodes.
#include "../complaint.hpp"
#include "../options.hpp"

namespace students {
namespace {

Command refuse(Options options) {
  options.keep_others();
  return [] {
    throw Failure(
        "This tmk-students was built without nodes, because ZeroMQ or LMDB was missing; install "
        "them (apt-get install libzmq3-dev cppzmq-dev liblmdb-dev) and build it again "
        "(./threadmark setup --apps).");
  };
}

}  // namespace

Command add_node(Options options) { return refuse(options); }
Command add_pipeline(Options options) { return refuse(options); }

}  // namespace students
