// threadmark-record: starts or watches a program, and prints records. Its exit status is the
// program's; its own failures are 125, and 126 and 127 if the program could not be started.
#include <sys/mman.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "agent_memory.hpp"
#include "launch.hpp"
#include "options.hpp"
#include "reader.hpp"
#include "session.hpp"
#include "shell_command.hpp"
#include "writer.hpp"

namespace threadmark {
namespace {

constexpr int kOwnFailure = 125;
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint64_t kReadyWithinNs = 60'000'000'000;
constexpr std::uint64_t kBetweenQuestionsNs = 100'000'000;
constexpr std::uint64_t kPatienceNs = 2'000'000'000;  // after a signal that asks for the end

int fail(const std::string& sentence, int status = kOwnFailure) {
  complain(sentence);
  return status;
}

class StandardOutput final : public Sink {
 public:
  bool take(std::string_view text) override {
    while (!text.empty()) {
      const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }
};

int print(const std::string& path) {
  const Descriptor file = open_to_read(path.c_str());
  struct stat about{};
  if (!file || ::fstat(file.get(), &about) != 0) {
    return fail("The record " + path + " cannot be read: " + ::strerror(errno) + ".");
  }
  const std::string no_record = "The file " + path + " is no record, or one of another version.";
  if (!S_ISREG(about.st_mode) || about.st_size == 0) return fail(no_record);
  const auto size = static_cast<std::size_t>(about.st_size);
  void* place = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (place == MAP_FAILED) {
    return fail("The record " + path + " cannot be read: " + ::strerror(errno) + ".");
  }
  StandardOutput output;
  switch (print_record({static_cast<const char*>(place), size}, output)) {
    case Printed::no_record:
      return fail(no_record);
    case Printed::not_taken:
      return fail(std::string("The output cannot be written: ") + ::strerror(errno) + ".");
    case Printed::whole:
    case Printed::partial:
      break;
  }
  return 0;
}

// Descriptors stay open for each thread, so the recorder may need as many as are allowed. The
// target was made before and keeps its own limit.
void raise_limits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  ::prctl(PR_SET_TIMERSLACK, 1);
}

// Dies by the same signal as the target, without a core dump.
[[noreturn]] void die_by(int signal) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(signal, SIG_DFL);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, signal);
  ::sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

class Watch {
 public:
  Watch(const Options& options, Session& session, Writer& writer, const Signals& signals,
        const std::vector<std::string>& command, pid_t pid, int process)
      : options_(options),
        session_(session),
        writer_(writer),
        signals_(signals),
        command_(command),
        pid_(pid),
        process_(process) {}

  // Records until the target ends, or until the recording of an attached target ends.
  int run() {
    give_up_ns_ = now_ns() + kReadyWithinNs;
    if (options_.ready.empty()) begin_ns_ = now_ns() + options_.delay_ns;
    if (options_.starts_at_once()) begin();
    for (;;) {
      const std::uint64_t now = now_ns();
      if (begin_ns_ == kNever) ask_whether_ready(now);
      if (!begun_ && !over_ && now >= begin_ns_) {
        session_.sample_running();
        begin();
      }
      if (loads_ && !load_.runs()) end_of_load();
      if (begun_ && !over_ && now >= until_ns_ && !ask_to_end()) stop(false);
      if (begun_ && !over_ && now >= session_.next_tick_ns() && !session_.tick() && attached()) {
        ended_ = true;
      }
      if (writer_.error() != 0) over_ = true;
      if (ended_ || (over_ && attached())) break;
      wait(over_    ? kNever
           : begun_ ? session_.next_tick_ns()
                    : std::min(begin_ns_, next_question_ns_));
      if (ended_) break;
    }
    if (loads_ && !over_) session_.limit("The program ended before the command of --load did.");
    if (!begun_ && !over_) {
      session_.limit("The program ended before the recording was to begin.");
      begin();
    }
    if (!over_) stop(true);
    if (!attached()) ::waitpid(pid_, nullptr, 0);
    if (writer_.error() != 0) {
      return fail("The record " + options_.output +
                  " is not complete: " + ::strerror(writer_.error()) + ".");
    }
    if (attached()) return 0;
    if (signal_ != 0) die_by(signal_);
    return exit_status_;
  }

 private:
  bool attached() const { return options_.pid != 0; }

  void begin() {
    begun_ = true;
    session_.start(command_, attached(), attached() || !options_.starts_at_once());
    if (options_.duration_ns != 0) until_ns_ = std::min(until_ns_, now_ns() + options_.duration_ns);
    if (options_.load.empty() || ended_) return;
    load_.start(options_.load, signals_);
    loads_ = true;
  }
  // The delay counts from the moment at which the server is ready.
  void ask_whether_ready(std::uint64_t now) {
    const bool late = now >= give_up_ns_;
    if (ready_.runs() && !late) return;
    if (ready_.status() == 0 || late) {
      if (ready_.status() != 0) session_.limit("The command of --ready did not succeed in time.");
      ready_.end();
      begin_ns_ = now + options_.delay_ns;
      next_question_ns_ = kNever;
    } else if (now >= next_question_ns_) {
      ready_.start(options_.ready, signals_);
      next_question_ns_ = now + kBetweenQuestionsNs;
    }
  }
  void end_of_load() {
    loads_ = false;
    if (load_.status() != 0)
      session_.limit(format("The command of --load ended with status %d.", load_.status()));
    until_ns_ = 0;
    if (over_) ask_to_end();  // the recorder cannot write any more
  }
  // Sends the target the signal that ends it. False: it has had the signal, or gets none.
  bool ask_to_end() {
    if (options_.stop_signal == 0 || asked_) return false;
    asked_ = true;
    ::kill(pid_, options_.stop_signal);
    until_ns_ = now_ns() + kPatienceNs;
    return true;
  }
  void stop(bool ended) {
    over_ = true;
    if (ended) session_.take_last_times();
    session_.finish(ended, exit_status_, signal_);
    loads_ = false;
    load_.end();
  }

  void wait(std::uint64_t until_ns) {
    pollfd waited[2] = {{signals_.descriptor(), POLLIN, 0}, {process_, POLLIN, 0}};
    const std::uint64_t now = now_ns();
    const std::uint64_t left = until_ns > now ? until_ns - now : 0;
    const timespec limit{static_cast<time_t>(left / 1'000'000'000),
                         static_cast<long>(left % 1'000'000'000)};
    ::ppoll(waited, process_ >= 0 ? 2 : 1, until_ns == ~std::uint64_t{0} ? nullptr : &limit,
            nullptr);
    if (process_ >= 0 && (waited[1].revents & POLLIN) != 0) ended_ = true;
    signalfd_siginfo signal;
    while (::read(signals_.descriptor(), &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo == SIGCHLD) {
        session_.release_stopped();
        if (!attached()) look_at_target();
        continue;
      }
      const bool from_process = signal.ssi_code <= 0;
      give_up_ns_ = 0;
      if (attached()) {
        until_ns_ = 0;
        continue;
      }
      // Signals of the terminal reach the target without help.
      if (from_process && static_cast<pid_t>(signal.ssi_pid) != pid_) {
        ::kill(pid_, static_cast<int>(signal.ssi_signo));
      }
      asked_ = true;
      until_ns_ = std::min(until_ns_, now_ns() + kPatienceNs);
    }
  }

  void look_at_target() {
    siginfo_t is{};
    // A thread that a sample has stopped is reported too, as trapped.
    if (::waitid(P_PID, static_cast<id_t>(pid_), &is, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        is.si_pid == pid_ && is.si_code != CLD_TRAPPED) {
      ended_ = true;
      (is.si_code == CLD_EXITED ? exit_status_ : signal_) = is.si_status;
      return;
    }
    is = {};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &is, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        is.si_pid == pid_ && is.si_code == CLD_STOPPED) {
      ::waitid(P_PID, static_cast<id_t>(pid_), &is, WSTOPPED | WNOHANG);
      stop_with_target(is.si_status);
    }
  }

  bool target_stopped() const {
    const std::string text = read_all(format("/proc/%d/stat", pid_).c_str());
    const std::size_t name = text.rfind(") ");
    return name != std::string::npos && name + 2 < text.size() && text[name + 2] == 'T';
  }

  // A shell sees only the recorder, so a target that stops itself for job control stops both.
  void stop_with_target(int signal) {
    if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) return;
    const Descriptor terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!terminal || ::getpgid(pid_) != ::getpgrp()) return;
    // After a stop of both, the target may just not have continued yet.
    const timespec moment{0, 20'000'000};
    ::nanosleep(&moment, nullptr);
    if (!target_stopped()) return;
    ::raise(SIGSTOP);
    ::nanosleep(&moment, nullptr);
    if (target_stopped()) ::kill(pid_, SIGCONT);
  }

  const Options& options_;
  Session& session_;
  Writer& writer_;
  const Signals& signals_;
  const std::vector<std::string>& command_;
  const pid_t pid_;
  const int process_;
  ShellCommand ready_, load_;
  std::uint64_t begin_ns_ = kNever, give_up_ns_ = 0, next_question_ns_ = 0;
  std::uint64_t until_ns_ = kNever;
  bool loads_ = false, asked_ = false;  // the load runs; the target got its end signal
  bool begun_ = false, over_ = false, ended_ = false;
  int exit_status_ = 0, signal_ = 0;
};

std::string unwritable(const Options& options, int error) {
  return "The record " + options.output + " cannot be written: " + ::strerror(error) + ".";
}

int record_command(const Options& options) {
  Signals signals;
  signals.take();
  Writer writer;
  if (const int error = writer.open(options.output); error != 0) {
    return fail(unwritable(options, error));
  }
  AgentMemory memory;
  std::string runtimes;
  std::string limit = why_not_preloadable(options.command[0], options.agent, runtimes);
  if (limit.empty() && !memory.make()) {
    limit =
        "The agent was not loaded, because there was no memory to share with it; waits were "
        "seen from outside only.";
  }
  std::string agent = options.agent;
  Descriptor agent_file;
  if (agent.find_first_of(": ") != std::string::npos) {  // the loader would split it there
    agent_file = open_to_read(agent.c_str());
    agent = format("/proc/%d/fd/%d", ::getpid(), agent_file.get());
  }
  Launch launch;
  std::vector<std::string> environment = environment_of_target(options.variables);
  if (limit.empty()) {
    environment = environment_with(std::move(environment), runtimes + agent, memory.path());
  }
  if (!launch.prepare(options.command, environment, signals)) {
    writer.abandon();
    return fail(std::string("No process can be made: ") + ::strerror(errno) + ".");
  }
  raise_limits();
  Session session(writer, memory, launch.pid());
  if (!limit.empty()) session.limit(limit);
  if (options.follow) session.follow();
  if (options.starts_at_once()) {
    session.sample_from_exec();
  }
  if (const int error = launch.begin(); error != 0) {
    ::waitpid(launch.pid(), nullptr, 0);
    writer.abandon();
    return fail(
        "The program " + options.command[0] + " cannot be started: " + ::strerror(error) + ".",
        error == ENOENT ? 127 : 126);
  }
  return Watch(options, session, writer, signals, options.command, launch.pid(), -1).run();
}

std::vector<std::string> command_of(pid_t pid) {
  std::vector<std::string> words;
  std::string text = read_all(format("/proc/%d/cmdline", pid).c_str());
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

int record_process(const Options& options) {
  const auto pid = static_cast<pid_t>(options.pid);
  const std::string number = format("%d", pid);
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process && errno != ENOSYS) {
    return fail(errno == EINVAL || errno == ENOENT
                    ? number + " is the id of a thread, not of a process."
                    : "There is no process with the id " + number + ".");
  }
  if (read_all(format("/proc/%d/maps", pid).c_str()).empty()) {
    return fail("The process " + number +
                " cannot be recorded: it has ended, belongs to another user or is protected.");
  }
  Signals signals;
  signals.take();
  Writer writer;
  if (const int error = writer.open(options.output); error != 0) {
    return fail(unwritable(options, error));
  }
  raise_limits();
  AgentMemory none;
  Session session(writer, none, pid);
  if (options.follow) session.follow();
  session.limit("The process ran before the recording, so waits were seen from outside only.");
  if (options.starts_at_once()) session.sample_running();
  return Watch(options, session, writer, signals, command_of(pid), pid, process.get()).run();
}

int run(int count, char** words) {
  reserve_standard_streams();
  Options options;
  if (const std::string wrong = parse(count, words, options); !wrong.empty()) return fail(wrong);
  if (options.help) {
    StandardOutput output;
    return output.take(usage()) ? 0 : kOwnFailure;
  }
  if (!options.print.empty()) return print(options.print);
  return options.pid != 0 ? record_process(options) : record_command(options);
}

}  // namespace
}  // namespace threadmark

int main(int count, char** words) { return threadmark::run(count, words); }
