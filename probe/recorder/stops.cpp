// Stopping threads. A thread is traced only while it is stopped, so that its signals, its calls and
// its children stay its own.
#include "stops.hpp"

#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "kernel.hpp"
#include "system.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kStackBytes = 16384;
constexpr suseconds_t kPatience = 200;  // us; a thread without a processor stops late

// Ends a wait for a thread that does not stop.
void set_timer(suseconds_t us) {
  static const bool ready = [] {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    return ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr) == 0;
  }();
  // The alarm is repeated, because the first one may come before the wait begins.
  const itimerval timer{{0, ready ? us : 0}, {0, ready ? us : 0}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

// Whether a thread has a child that sends it no signal at its end. LeakSanitizer makes such a
// child, which fails if it may not trace the thread.
bool has_silent_child(pid_t tid) {
  const std::string children = read_all(format("/proc/%d/task/%d/children", tid, tid).c_str());
  const char* at = children.c_str();
  for (;;) {
    char* end = nullptr;
    const long child = std::strtol(at, &end, 10);
    if (end == at) return false;
    at = end;
    const std::string stat = read_all(format("/proc/%ld/stat", child).c_str());
    std::size_t place = stat.rfind(')');
    // The state is the first field after the name, and the signal the 36th.
    for (int field = 0; field < 36 && place != std::string::npos; ++field) {
      place = stat.find(' ', place + 1);
    }
    if (place != std::string::npos && std::atoi(&stat[place]) != SIGCHLD) return true;
  }
}

#if defined(__x86_64__)
// The kernel's ERESTARTSYS and ERESTART_RESTARTBLOCK: the results of calls that begin again.
constexpr int kRestartFirst = 512, kRestartBlock = 516;

// Whether a signal waits to be delivered to a thread.
bool has_signal(pid_t tid) {
  const std::string text = read_all(format("/proc/%d/status", tid).c_str());
  const auto mask = [&](const char* name) {
    const std::size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::strtoull(&text[at + std::strlen(name)], nullptr, 16);
  };
  return ((mask("SigPnd:") | mask("ShdPnd:")) & ~mask("SigBlk:")) != 0;
}

// A call that only the stop has interrupted begins again, as if there had been no stop: epoll_wait
// would return EINTR, and others would go on as restart_syscall, which filters of seccomp may lack.
void restart_call(pid_t tid, user_regs_struct& registers) {
  const auto result = static_cast<long>(registers.rax);
  if ((result != -EINTR && result != -kRestartBlock) || has_signal(tid)) return;
  registers.rax = registers.orig_rax;
  registers.rip -= 2;  // the length of the instruction syscall
  ::ptrace(PTRACE_SETREGS, tid, nullptr, &registers);
}

bool read_registers(pid_t tid, Sample& sample) {
  user_regs_struct is{};
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &is) != 0) return false;
  if (static_cast<long>(is.orig_rax) >= 0) {
    const auto result = static_cast<long>(is.rax);
    if (result == -EINTR || (result <= -kRestartFirst && result >= -kRestartBlock)) {
      restart_call(tid, is);
      return false;  // it waited there
    }
    sample.kernel = true;
    sample.entry = static_cast<std::uint64_t>(Entry::call);
  }
  sample.registers = {is.rip, is.rsp, is.rax, is.rbx, is.rcx, is.rdx, is.rsi, is.rdi, is.rbp,
                      is.r8,  is.r9,  is.r10, is.r11, is.r12, is.r13, is.r14, is.r15};
  return true;
}
constexpr bool kKnown = true;
#else
bool read_registers(pid_t, Sample&) { return false; }
constexpr bool kKnown = false;  // which calls a stop interrupts cannot be mended there
#endif

}  // namespace

Stops::State Stops::await_stop(pid_t tid, int options, int& signal) const {
  siginfo_t is{};
  const auto id = static_cast<id_t>(tid);
  if (::waitid(P_PID, id, &is, WEXITED | WSTOPPED | WNOWAIT | __WALL | options) != 0) {
    return errno == EINTR ? State::late : State::gone;
  }
  if (is.si_pid == 0) return State::late;
  const bool ended = is.si_code != CLD_TRAPPED && is.si_code != CLD_STOPPED;
  if (ended && tid == child_) return State::gone;
  int status = 0;
  if (::waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return State::gone;
  signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;  // else the recorder or job control stops it
  return State::stopped;
}

bool Stops::take(pid_t tid, int signal, Sample& sample, StackCopy& stack,
                 std::vector<char>& bytes) {
  sample.tid = static_cast<std::uint64_t>(tid);
  sample.at_ns = now_ns();
  const bool taken = read_registers(tid, sample);
  if (taken) {
    bytes.resize(kStackBytes);
    const std::uint64_t sp = sample.registers[1];
    stack = {sp, bytes.data(), read_memory(tid, sp, bytes.data(), bytes.size())};
  }
  ::ptrace(PTRACE_DETACH, tid, nullptr, static_cast<long>(signal));
  return taken;
}

Stops::Outcome Stops::sample(pid_t tid, Sample& sample, StackCopy& stack,
                             std::vector<char>& bytes) {
  if (kKnown && has_silent_child(tid)) return Outcome::none;
  if (!kKnown || ::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    error_ = kKnown ? errno : ENOSYS;
    return error_ == ESRCH ? Outcome::none : Outcome::refused;
  }
  ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  int signal = 0;
  set_timer(kPatience);
  const State state = await_stop(tid, 0, signal);
  set_timer(0);
  if (state == State::late) late_.push_back(tid);
  if (state != State::stopped) return Outcome::none;
  return take(tid, signal, sample, stack, bytes) ? Outcome::taken : Outcome::none;
}

void Stops::release(const std::function<void(Sample&, const StackCopy&)>& each) {
  std::erase_if(late_, [&](pid_t tid) {
    int signal = 0;
    const State state = await_stop(tid, WNOHANG, signal);
    Sample sample;
    StackCopy stack;
    std::vector<char> bytes;
    if (state == State::stopped && take(tid, signal, sample, stack, bytes)) each(sample, stack);
    return state != State::late;
  });
}

}  // namespace threadmark
