// A process that this one starts, watches and outlives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace students::nodes {

class Child {
 public:
  static constexpr int kReport = 3;  // the descriptor on which the child reports

  // Starts this program again with these words. The kernel kills the child when this process ends,
  // Ctrl-C does not reach it, and no process reads its standard output. Throws Failure.
  explicit Child(const std::vector<std::string>& words);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills it if it runs

  pid_t id() const { return id_; }
  // To wait for something to read; both are at their end when the child has ended.
  int report() const { return report_; }
  int error() const { return error_; }

  // Reads the child's reports and complaints so far.
  void read();
  // The whole lines of the report since the last call.
  std::vector<std::string> lines();
  const std::string& complaint() const { return complaint_; }

  // Whether the child has ended; status() is then that of waitpid.
  bool ended();
  int status() const { return status_; }
  void signal(int number) const;
  void wait();

 private:
  pid_t id_ = -1;
  int report_ = -1;
  int error_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string reported_;
  std::string complaint_;
};

}  // namespace students::nodes
