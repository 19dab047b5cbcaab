// The names of the kernel's functions, and their meaning for a thread that is in them. The names
// are those of Linux 5.4 and later on x86-64 and aarch64; a name that is not here has no meaning.
#include "kernel.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "format.hpp"
#include "system.hpp"

namespace threadmark {
namespace {

template <std::size_t kCount>
using Words = std::array<std::string_view, kCount>;

template <std::size_t kCount>
bool begins_with_any(std::string_view name, const Words<kCount>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.starts_with(word); });
}

constexpr Words<7> kCalls = {"entry_SYSCALL", "entry_INT80", "do_syscall_64", "ret_from_fork",
                             "el0_svc",       "do_el0_svc",  "invoke_syscall"};
constexpr Words<10> kFaults = {"asm_exc_page_fault", "exc_page_fault", "fred_page_fault",
                               "async_page_fault",   "page_fault",     "do_page_fault",
                               "do_user_addr_fault", "el0_da",         "el0_ia",
                               "do_mem_abort"};
constexpr Words<15> kInterrupts = {
    "asm_sysvec_",    "sysvec_",       "asm_common_interrupt", "common_interrupt", "asm_exc_",
    "fred_extint",    "ret_from_intr", "retint_user",          "apic_timer_",      "reschedule_int",
    "call_function_", "el0t_64_irq",   "el0t_64_fiq",          "el0t_64_error",    "el0_irq"};

// The scheduler, and the events of perf that stand inside it.
constexpr Words<8> kScheduler = {"schedule", "__schedule", "io_schedule",  "perf_",
                                 "__perf_",  "___perf_",   "__traceiter_", "prepare_task_switch"};

// A thread in such a function has work to do and gives its processor to another thread.
bool gives_way(std::string_view name) {
  constexpr Words<9> kBegin = {"do_sched_yield",
                               "__do_sys_sched_yield",
                               "__x64_sys_sched_yield",
                               "yield",
                               "irqentry_exit",
                               "do_notify_resume",
                               "do_syscall_64",
                               "el0_",
                               "el1_"};
  constexpr Words<4> kInside = {"preempt_schedule", "cond_resched", "exit_to_user", "el1_irq"};
  return begins_with_any(name, kBegin) || name.starts_with("asm_") ||
         std::any_of(kInside.begin(), kInside.end(), [&](std::string_view word) {
           return name.find(word) != std::string_view::npos;
         });
}

Entry entry_of(std::string_view name) {
  if (begins_with_any(name, kFaults)) return Entry::fault;  // before the other exceptions
  if (begins_with_any(name, kInterrupts)) return Entry::interrupt;
  return begins_with_any(name, kCalls) ? Entry::call : Entry::unknown;
}

}  // namespace

bool KernelNames::take(std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    std::uint64_t address = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const auto at = static_cast<std::size_t>(read.ptr - line.data());
    if (read.ec != std::errc{} || address == 0 || line.size() < at + 4) continue;
    if (std::string_view("tTwW").find(line[at + 1]) == std::string_view::npos) continue;
    // A name ends at the module's name, or at the suffix that a compiler adds for a part or a copy.
    const std::string_view rest = line.substr(at + 3);
    const std::string_view name = rest.substr(0, std::min(rest.find_first_of("\t ."), kMostName));
    functions_.push_back({address, static_cast<std::uint32_t>(names_.size()),
                          static_cast<std::uint32_t>(name.size())});
    names_ += name;
  }
  // Functions with equal addresses stay in the order of the file. The code does not use
  // std::stable_sort, because that calls a function that C++17 deprecates.
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    return std::pair(a.address, a.begin) < std::pair(b.address, b.begin);
  });
  return known();
}

std::string_view KernelNames::name_at(std::uint64_t address) {
  if (!known()) return {};
  const auto [place, is_new] = found_.try_emplace(address);
  if (is_new) {
    const auto after =
        std::upper_bound(functions_.begin(), functions_.end(), address,
                         [](std::uint64_t a, const Function& f) { return a < f.address; });
    if (after != functions_.begin()) {
      const Function& function = *(after - 1);
      place->second = std::string_view(names_).substr(function.begin, function.length);
    }
  }
  return place->second;
}

KernelPlace KernelNames::place(const std::vector<std::uint64_t>& chain, bool switched) {
  KernelPlace found;
  for (std::size_t i = chain.size(); i-- > 0 && found.entry == Entry::unknown;) {
    found.entry = entry_of(name_at(chain[i] - 1));  // a return address may be behind the function
  }
  if (!switched) return found;
  for (const std::uint64_t address : chain) {
    const std::string_view name = name_at(address - 1);
    if ((found.preempted = gives_way(name))) break;
    if (begins_with_any(name, kScheduler)) continue;
    found.sleeps_in = name;
    break;
  }
  return found;
}

KernelPlace KernelNames::waker(const std::vector<std::uint64_t>& chain) {
  KernelPlace found = place(chain, false);
  for (const std::uint64_t address : chain) {
    const std::string_view name = name_at(address - 1);
    if (entry_of(name) == Entry::interrupt) found.entry = Entry::interrupt;
    if (name.find("sys_futex") != std::string_view::npos) found.futex = true;
  }
  return found;
}

KernelNames& kernel_names() {
  static KernelNames names;
  static const bool read = names.take(read_all("/proc/kallsyms", std::size_t{64} << 20));
  static_cast<void>(read);
  return names;
}

}  // namespace threadmark
