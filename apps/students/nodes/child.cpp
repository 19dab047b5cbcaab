// The definitions.
#include "child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "../complaint.hpp"

namespace students::nodes {
namespace {

constexpr std::size_t kMostComplaintBytes = 4096;

Failure refused(int error) {
  return Failure(std::string("A node cannot be started (") + std::strerror(error) +
                 "); raise the limits of processes and open files (ulimit -u, ulimit -n).");
}

// In the child: only what may be called between fork and exec.
[[noreturn]] void become(char* const* words, pid_t parent, int report, int error,
                         const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it has ended before this
  // The handler of this program would note a SIGTERM that comes now, and exec would forget it.
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTERM, &usual, nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  for (const int number : {SIGINT, SIGHUP, SIGQUIT}) sigaction(number, &ignored, nullptr);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  // The copies are above all that they go to, so that none overwrites another.
  const int own_report = fcntl(report, F_DUPFD_CLOEXEC, Child::kReport + 1);
  const int own_error = fcntl(error, F_DUPFD_CLOEXEC, Child::kReport + 1);
  const bool ready = nothing >= 0 && own_report >= 0 && own_error >= 0 &&
                     dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
                     dup2(own_error, STDERR_FILENO) >= 0 && dup2(own_report, Child::kReport) >= 0;
  if (ready) execv("/proc/self/exe", words);
  _exit(127);
}

void take(int& descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  while (descriptor >= 0) {
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      close(descriptor);
      descriptor = -1;
      return;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Child::Child(const std::vector<std::string>& words) {
  std::array<int, 2> report{-1, -1};
  std::array<int, 2> error{-1, -1};
  const auto close_all = [&] {
    for (const int each : {report[0], report[1], error[0], error[1]}) {
      if (each >= 0) close(each);
    }
  };
  if (pipe2(report.data(), O_CLOEXEC) != 0 || pipe2(error.data(), O_CLOEXEC) != 0) {
    const int why = errno;
    close_all();
    throw refused(why);
  }
  std::vector<char*> pointers;
  for (const std::string& each : words) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  sigset_t term;
  sigset_t before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, &before);
  id_ = fork();
  if (id_ == 0) become(pointers.data(), parent, report[1], error[1], before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (id_ < 0) {
    const int why = errno;  // of fork: the mask that is restored cannot fail
    close_all();
    throw refused(why);
  }
  close(report[1]);
  close(error[1]);
  report_ = report[0];
  error_ = error[0];
  fcntl(report_, F_SETFL, O_NONBLOCK);
  fcntl(error_, F_SETFL, O_NONBLOCK);
}

Child::~Child() {
  if (!ended_) {
    signal(SIGKILL);
    wait();
  }
  if (report_ >= 0) close(report_);
  if (error_ >= 0) close(error_);
}

void Child::read() {
  take(report_, reported_);
  take(error_, complaint_);
  if (complaint_.size() > kMostComplaintBytes) complaint_.resize(kMostComplaintBytes);
}

std::vector<std::string> Child::lines() {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = reported_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines.push_back(reported_.substr(begin, end - begin));
  }
  reported_.erase(0, begin);
  return lines;
}

bool Child::ended() {
  if (!ended_ && waitpid(id_, &status_, WNOHANG) == id_) ended_ = true;
  return ended_;
}

void Child::signal(int number) const {
  if (!ended_) kill(id_, number);
}

void Child::wait() {
  while (!ended_) {
    const pid_t found = waitpid(id_, &status_, 0);
    ended_ = found == id_ || (found < 0 && errno != EINTR);
  }
}

}  // namespace students::nodes
