// `tmk-students node` and `tmk-students pipeline`: the options, and what is said at the end.
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

void add_timeout(CLI::App& app, const std::function<void(std::uint64_t)>& take) {
  add_number(app, "--timeout", "Seconds that a neighbour may be away [60]", 1, kMostTimeout, take);
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

Command add_node(CLI::App& app) {
  const auto given = std::make_shared<GivenNode>();
  nodes::NodePlan& plan = given->plan;
  app.add_option("NODE", given->name, "basic, exam, exercise or project: the order of the nodes")
      ->required();
  app.add_option("--listen", plan.listen, "Where the node before sends; not of basic")
      ->type_name("HOST:PORT");
  app.add_option("--next", plan.next, "Where the next node listens; not of project")
      ->type_name("HOST:PORT");
  app.add_option("--state", plan.state, "A folder of this node alone, by which it goes on")
      ->type_name("DIR")
      ->required();
  app.add_option("--in", plan.folder, "The folder of the node's file [.]")->type_name("DIR");
  app.add_option("-o,--output", given->output, "The result, of project [summary.txt]")
      ->type_name("FILE");
  add_points(app, plan.maximum);
  add_timeout(app, [&plan](auto number) { plan.timeout = std::chrono::seconds(number); });
  app.add_flag("--fresh", plan.fresh, "Forget the state and begin anew; all nodes must");
  add_number(app, "--report", "A descriptor for what the pipeline shows", 3, 1023,
             [&plan](auto number) { plan.report = static_cast<int>(number); })
      ->group("");
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

Command add_pipeline(CLI::App& app) {
  const auto plan = std::make_shared<nodes::PipelinePlan>();
  app.add_option("--in", plan->folder, "The folder of the four files [.]")->type_name("DIR");
  app.add_option("-o,--output", plan->target, "The result [summary.txt]")->type_name("FILE");
  app.add_option("--state", plan->state,
                 "A folder by which an interrupted run goes on; removed at the end [FILE.state]")
      ->type_name("DIR");
  add_points(app, plan->maximum);
  add_timeout(app, [plan](auto number) { plan->timeout_s = number; });
  app.add_flag("--fresh", plan->fresh, "Forget the state of an interrupted run and begin anew");
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
