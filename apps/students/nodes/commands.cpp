// `tmk-students node` and `tmk-students pipeline`: the options, and the output at the end.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "../complaint.hpp"
#include "../merging/result_files.hpp"
#include "../options.hpp"
#include "node.hpp"
#include "pipeline.hpp"

namespace students {
namespace {

constexpr std::uint64_t kMostTimeout = 86'400;

void add_timeout(Options options, const std::function<void(std::uint64_t)>& take) {
  options.number("--timeout", "Seconds that a neighbour may be away [60]", 1, kMostTimeout, take);
}

struct GivenNode {
  nodes::NodePlan plan;
  std::string name;
  std::string output;
};

// What the place in the row demands and forbids. Throws BadRequest.
void check(const GivenNode& given) {
  const nodes::NodePlan& plan = given.plan;
  const bool first = plan.node == kBasic;
  const bool last = plan.node == kProject;
  const auto forbid = [&](bool wrong, const char* what) {
    if (wrong) throw BadRequest("The node " + given.name + " " + what);
  };
  forbid(first && !plan.listen.empty(), "is the first one; leave --listen out.");
  forbid(!first && plan.listen.empty(), "needs --listen ADDRESS, to which the node before sends.");
  forbid(last && !plan.next.empty(), "is the last one; leave --next out.");
  forbid(!last && plan.next.empty(), "needs --next ADDRESS, where the next node listens.");
  forbid(!last && !given.output.empty(), "writes no result; leave --output out (project has it).");
}

void run(const GivenNode& given) {
  const nodes::NodePlan& plan = given.plan;
  const std::string who = given.name + ": ";
  nodes::NodeFacts facts;
  try {
    if (plan.node == kProject) check_target(plan.target, plan.folder);
    facts = nodes::run_node(plan);
  } catch (const Failure& error) {
    throw Failure(who + error.what());
  }
  std::string said = who;
  if (plan.node != kBasic) said += std::to_string(facts.received) + " received";
  if (plan.node != kBasic && plan.node != kProject) said += ", ";
  if (plan.node != kProject) {
    said += std::to_string(facts.passed) + " passed on, " + std::to_string(facts.acknowledged) +
            " acknowledged";
  }
  print(said + "\n");
  if (facts.results.incomplete > 0) {
    throw incomplete_students(facts.results.incomplete, plan.target);
  }
}

}  // namespace

Command add_node(Options options) {
  const auto given = std::make_shared<GivenNode>();
  nodes::NodePlan& plan = given->plan;
  options.text("NODE", given->name, "basic, exam, exercise or project: the order of the nodes")
      .required();
  options.text("--listen", plan.listen, "Where the node before sends; not of basic")
      .type("HOST:PORT");
  options.text("--next", plan.next, "Where the next node listens; not of project")
      .type("HOST:PORT");
  options.text("--state", plan.state, "A folder of this node alone, by which it goes on")
      .type("DIR")
      .required();
  options.text("--in", plan.folder, "The folder of the node's file [.]").type("DIR");
  options.text("-o,--output", given->output, "The result, of project [summary.txt]").type("FILE");
  add_points(options, plan.maximum);
  add_timeout(options, [&plan](auto number) { plan.timeout = std::chrono::seconds(number); });
  options.flag("--fresh", plan.fresh, "Forget the state and begin anew; all nodes must");
  options
      .number("--report", "A descriptor for what the pipeline shows", 3, 1023,
              [&plan](auto number) { plan.report = static_cast<int>(number); })
      .hidden();
  return [given] {
    const auto node = nodes::node_named(given->name);
    if (!node) {
      throw BadRequest("There is no node '" + given->name +
                       "'; choose basic, exam, exercise or project.");
    }
    given->plan.node = *node;
    if (!given->output.empty()) given->plan.target = given->output;
    check(*given);
    given->plan.progress = given->plan.report < 0 && isatty(STDERR_FILENO) != 0;
    run(*given);
  };
}

Command add_pipeline(Options options) {
  const auto plan = std::make_shared<nodes::PipelinePlan>();
  options.text("--in", plan->folder, "The folder of the four files [.]").type("DIR");
  options.text("-o,--output", plan->target, "The result [summary.txt]").type("FILE");
  options
      .text("--state", plan->state,
            "A folder by which an interrupted run goes on; removed at the end [FILE.state]")
      .type("DIR");
  add_points(options, plan->maximum);
  add_timeout(options, [plan](auto number) { plan->timeout_s = number; });
  options.flag("--fresh", plan->fresh, "Forget the state of an interrupted run and begin anew");
  return [plan] {
    plan->progress = isatty(STDERR_FILENO) != 0;
    const auto start = std::chrono::steady_clock::now();
    const auto said = [start] {
      const std::chrono::duration<double, std::milli> elapsed =
          std::chrono::steady_clock::now() - start;
      print("Pipeline took " + milliseconds(elapsed.count()) + "\n");
    };
    try {
      nodes::run_pipeline(*plan);
    } catch (const Incomplete&) {
      said();
      throw;
    }
    said();
  };
}

}  // namespace students
