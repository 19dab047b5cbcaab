// Perf events: opening them as the kernel allows, and reading their buffers.
#include "perf.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernel.hpp"
#include "tracepoints.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStackBytes = 16384;
constexpr std::size_t kMostRings = std::size_t{16} << 20;  // of all larger rings together
// One of kSwitches switches is a sample. A frequency instead would make the weights wrong, because
// the kernel follows a burst at once and forgets it slowly. The number is prime, so few patterns of
// a program repeat with it.
constexpr std::uint64_t kSwitches = 17;
// The same for wakes. Many programs have more wakes than switches, and a wake sample costs the
// waker more.
constexpr std::uint64_t kWakes = 251;
// The same for page faults where the kernel hides the rest of its time: 997 of them take half a
// millisecond or more.
constexpr std::uint64_t kFaults = 997;
// Flags of a tracepoint: it was reached in an interrupt, or in work that an interrupt has put off.
constexpr std::uint8_t kInInterrupt = 0x08, kInSoftInterrupt = 0x10;
constexpr auto kFirstContext = static_cast<std::uint64_t>(PERF_CONTEXT_MAX);

#if defined(__x86_64__)
// The kernel's numbers of the registers in kRegisters, and the mask of them all.
constexpr std::array<unsigned, kRegisters.size()> kKernelNumber = {8,  7,  0,  1,  2,  3,  4,  5, 6,
                                                                   16, 17, 18, 19, 20, 21, 22, 23};
constexpr std::array<unsigned, kRegisters.size()> kDwarfNumber = {16, 7, 0,  3,  2,  1,  4,  5, 6,
                                                                  8,  9, 10, 11, 12, 13, 14, 15};
constexpr std::size_t kFirstArgument = 7;  // of a system call: di
#else
// The numbers of pc, sp and the first registers; bp is the frame pointer and r8 the link register.
constexpr std::array<unsigned, kRegisters.size()> kKernelNumber = {
    32, 31, 0, 1, 2, 3, 4, 5, 29, 30, 19, 20, 21, 22, 23, 24, 25};
constexpr std::array<unsigned, kRegisters.size()> kDwarfNumber = {32, 31, 0,  1,  2,  3,  4,  5, 29,
                                                                  30, 19, 20, 21, 22, 23, 24, 25};
constexpr std::size_t kFirstArgument = 2;  // x0, in the place of ax
#endif

constexpr std::uint64_t kRegisterMask = [] {
  std::uint64_t mask = 0;
  for (const unsigned number : kKernelNumber) mask |= std::uint64_t{1} << number;
  return mask;
}();

}  // namespace

// Takes numbers from an event's bytes. The kernel wrote them, but the reader still reads nothing
// beyond them.
class Perf::Fields {
 public:
  Fields(const char* at, std::size_t size) : at_(at), left_(size) {}
  template <class Number>
  Number take() {
    Number number{};
    if (left_ >= sizeof number) {
      std::memcpy(&number, at_, sizeof number);
      at_ += sizeof number;
      left_ -= sizeof number;
    } else {
      left_ = 0;
    }
    return number;
  }
  const char* skip(std::size_t bytes) {
    const char* here = at_;
    const std::size_t by = std::min(bytes, left_);
    at_ += by;
    left_ -= by;
    return here;
  }
  std::size_t left() const { return left_; }
  // part() takes the next bytes apart; at() reads the bytes at a place.
  Fields part(std::size_t bytes) {
    const std::size_t size = std::min(bytes, left_);
    return {skip(size), size};
  }
  template <class Number>
  Number at(std::size_t offset) const {
    Number number{};
    if (offset < left_ && sizeof number <= left_ - offset) {
      std::memcpy(&number, at_ + offset, sizeof number);
    }
    return number;
  }

 private:
  const char* at_;
  std::size_t left_;
};

namespace {

int processors_configured() {
  const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count > 0 ? static_cast<int>(count) : 1;
}

// In the first namespace of processes the numbers of threads are the same everywhere.
bool in_first_namespace() {
  char name[64] = {};
  return ::readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0 &&
         std::strcmp(name, "pid:[4026531836]") == 0;
}

bool has(const std::vector<std::uint64_t>& sorted, std::uint64_t id) {
  return std::binary_search(sorted.begin(), sorted.end(), id);
}

// The common attributes of all events, so that their samples have the same parts. Samples of a
// tracepoint also have its fields.
perf_event_attr attributes_of(std::uint64_t config, bool from_exec, bool follow) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = config;
  // With PERF_SAMPLE_PERIOD the kernel would make a sample of each switch.
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                           PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = kRegisterMask;
  attributes.sample_stack_user = kStackBytes;
  attributes.disabled = from_exec;
  attributes.enable_on_exec = from_exec;
  attributes.inherit = 1;
  attributes.inherit_thread = !follow;
  attributes.exclude_hv = 1;
  attributes.exclude_callchain_user = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

void allow_kernel(perf_event_attr& attributes, bool allowed) {
  attributes.exclude_kernel = !allowed;
  attributes.exclude_callchain_kernel = !allowed;
}

int open_event(perf_event_attr& attributes, pid_t tid, int processor) {
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, tid, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

// Whether the registers are as a system call leaves them, for kernels that hide their names.
bool by_call([[maybe_unused]] const Sample& sample) {
#if defined(__x86_64__)
  return sample.registers[4] == sample.registers[0];  // cx has the address to which it returns
#else
  return false;
#endif
}

}  // namespace

unwind::Registers registers_of(const Sample& sample) {
  unwind::Registers registers{};
  for (std::size_t i = 0; i < sample.registers.size(); ++i) {
    registers.set(kDwarfNumber[i], sample.registers[i]);
  }
  return registers;
}

int Perf::open(pid_t tid, bool from_exec, bool follow) {
  perf_event_attr attributes = attributes_of(PERF_COUNT_SW_TASK_CLOCK, from_exec, follow);
  attributes.sample_period = period_ns();
  attributes.mmap = 1;
  attributes.task = 1;
  std::vector<int> opened;
  return open_on_processors(attributes, tid, Of::time, opened);
}

int Perf::open_switches(pid_t tid, bool from_exec, bool follow) {
  if (!kernel_) return EPERM;
  perf_event_attr attributes = attributes_of(PERF_COUNT_SW_CONTEXT_SWITCHES, from_exec, follow);
  attributes.sample_period = kSwitches;
  // Without names, the message after each sample tells whether the thread was ready. With names,
  // the recorder does not ask for the message, because it follows all the other switches too.
  attributes.context_switch = !kernel_names().known();
  return open_with_ids(attributes, tid, Of::switches, switch_ids_);
}

int Perf::open_wakes(pid_t tid, bool from_exec, bool follow) {
  if (!kernel_) return EPERM;
  if (!sched_waking().known()) return ENOENT;
  perf_event_attr attributes = attributes_of(sched_waking().id, from_exec, follow);
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.sample_type |= PERF_SAMPLE_RAW;
  attributes.sample_period = kWakes;
  return open_with_ids(attributes, tid, Of::wakes, wake_ids_);
}

int Perf::open_faults(pid_t tid, bool from_exec, bool follow) {
  if (kernel_) return EPERM;
  perf_event_attr attributes = attributes_of(PERF_COUNT_SW_PAGE_FAULTS, from_exec, follow);
  attributes.sample_period = kFaults;
  // They are few, so the ring of the other samples has room for them.
  return open_with_ids(attributes, tid, Of::time, fault_ids_);
}

int Perf::open_with_ids(perf_event_attr& attributes, pid_t tid, Of of,
                        std::vector<std::uint64_t>& ids) {
  std::vector<int> opened;
  const int error = open_on_processors(attributes, tid, of, opened);
  for (const int event : opened) {
    std::uint64_t id = 0;
    if (::ioctl(event, PERF_EVENT_IOC_ID, &id) != 0) continue;
    ids.insert(std::lower_bound(ids.begin(), ids.end(), id), id);
  }
  return error;
}

int Perf::open_on_processors(perf_event_attr& attributes, pid_t tid, Of of,
                             std::vector<int>& opened) {
  allow_kernel(attributes, !decided_ || kernel_);
  int error = ENODEV;
  const int processors = processors_configured();
  for (int processor = 0; processor < processors; ++processor) {
    int event = open_event(attributes, tid, processor);
    if (event < 0 && !decided_ && (errno == EACCES || errno == EPERM)) {
      allow_kernel(attributes, false);
      event = open_event(attributes, tid, processor);
    }
    if (event < 0) {
      error = errno;
      if (error == ENODEV || error == EINVAL) continue;  // a processor that is off
      return error;
    }
    decided_ = true;
    kernel_ = attributes.exclude_kernel == 0;
    Descriptor held(event);
    int first = first_of(processor, of);
    if (first < 0 && !map(event, processor, of)) {
      first = of == Of::switches ? first_of(processor, Of::time) : -1;
      if (first < 0) return errno;
    }
    if (first >= 0 && ::ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, first) != 0) return errno;
    opened.push_back(event);
    events_.push_back(std::move(held));
    error = 0;
  }
  return error;
}

int Perf::first_of(int processor, Of of) const {
  for (const Ring& ring : rings_) {
    if (ring.processor == processor && ring.of == of) return ring.first;
  }
  return -1;
}

bool Perf::map(int event, int processor, Of of) {
  // The kernel limits the memory that a user may lock, by default to 516 KiB for each processor.
  std::size_t bytes = std::size_t{512} << 10;
  if (of != Of::time && kMostRings / bytes > static_cast<std::size_t>(processors_configured())) {
    bytes *= 4;
  }
  for (; bytes >= std::size_t{64} << 10; bytes /= 2) {
    void* place = ::mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (place == MAP_FAILED) continue;
    rings_.push_back({processor, of, place, bytes, event});
    return true;
  }
  return false;
}

void Perf::read(PerfListener& listener) {
  // The rings with messages of new threads come first.
  for (const Of of : {Of::time, Of::switches, Of::wakes}) {
    for (const Ring& ring : rings_) {
      if (ring.of == of) read_ring(ring, listener);
    }
  }
}

void Perf::read_ring(const Ring& ring, PerfListener& listener) {
  auto* page = static_cast<perf_event_mmap_page*>(ring.place);
  const char* data = static_cast<const char*>(ring.place) + kPage;
  const std::uint64_t head = std::atomic_ref(page->data_head).load();
  std::uint64_t tail = page->data_tail;
  while (tail < head) {
    perf_event_header event;
    std::memcpy(&event, data + tail % ring.bytes, sizeof event);  // events are aligned to 8
    if (event.size < sizeof event || event.size > head - tail) break;
    const std::size_t at = tail % ring.bytes;
    const char* whole = data + at;
    if (at + event.size > ring.bytes) {
      event_.assign(data + at, ring.bytes - at);
      event_.append(data, event.size - (ring.bytes - at));
      whole = event_.data();
    }
    tail += event.size;
    perf_event_header next{};
    if (tail < head) std::memcpy(&next, data + tail % ring.bytes, sizeof next);
    ready_ =
        next.type == PERF_RECORD_SWITCH && (next.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    read_event(ring, event, whole + sizeof event, listener);
  }
  std::atomic_ref(page->data_tail).store(head);
}

void Perf::read_event(const Ring& ring, const perf_event_header& event, const char* body,
                      PerfListener& listener) {
  Fields fields(body, event.size - sizeof event);
  switch (event.type) {
    case PERF_RECORD_SAMPLE:
      read_sample(event, fields, listener);
      break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      const auto pid = fields.take<std::uint32_t>();
      fields.take<std::uint32_t>();
      const auto tid = fields.take<std::uint32_t>();
      const auto maker = fields.take<std::uint32_t>();
      const auto at_ns = fields.take<std::uint64_t>();
      if (event.type == PERF_RECORD_FORK) {
        listener.on_thread_begin(static_cast<pid_t>(pid), static_cast<pid_t>(tid),
                                 static_cast<pid_t>(maker), at_ns);
      } else {
        listener.on_thread_end(static_cast<pid_t>(pid), static_cast<pid_t>(tid), at_ns);
      }
      break;
    }
    case PERF_RECORD_MMAP:
      listener.on_mapping(static_cast<pid_t>(fields.take<std::uint32_t>()));
      break;
    case PERF_RECORD_LOST:
      fields.take<std::uint64_t>();
      if (ring.of == Of::time) listener.on_lost(fields.take<std::uint64_t>());
      break;
    default:
      break;
  }
}

void Perf::read_sample(const perf_event_header& event, Fields fields, PerfListener& listener) {
  const bool kernel = (event.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  Sample sample;
  sample.kernel = kernel;
  const auto pid = static_cast<pid_t>(fields.take<std::uint32_t>());
  sample.tid = fields.take<std::uint32_t>();
  sample.at_ns = fields.take<std::uint64_t>();
  const auto id = fields.take<std::uint64_t>();
  sample.switched = has(switch_ids_, id);
  if (sample.switched) sample.weight = kSwitches;
  if (has(fault_ids_, id)) sample.faults = kFaults;
  chain_.clear();
  for (auto left = fields.take<std::uint64_t>(); left > 0 && fields.left() > 0; --left) {
    const auto address = fields.take<std::uint64_t>();
    if (address < kFirstContext) chain_.push_back(address);  // else it names the next ones' owner
  }
  const bool wakes = has(wake_ids_, id);
  const Fields tracepoint = fields.part(wakes ? fields.take<std::uint32_t>() : 0);
  if (fields.take<std::uint64_t>() == PERF_SAMPLE_REGS_ABI_NONE) return;  // a kernel thread
  for (unsigned number = 0; number < 64; ++number) {
    if ((kRegisterMask >> number & 1) == 0) continue;
    const auto* place = std::find(kKernelNumber.begin(), kKernelNumber.end(), number);
    sample.registers[static_cast<std::size_t>(place - kKernelNumber.begin())] =
        fields.take<std::uint64_t>();
  }
  StackCopy stack;
  const auto copied = fields.take<std::uint64_t>();
  stack.bytes = fields.skip(copied);
  stack.size = std::min<std::size_t>(copied, fields.take<std::uint64_t>());
  stack.address = sample.registers[1];
  if (wakes) {
    Wake wake = read_waking(tracepoint, sample);
    if (wake.woken != 0) listener.on_wake(pid, wake, stack, sample);
    return;
  }
  if (kernel) {
    const KernelPlace place = kernel_names().place(chain_, sample.switched);
    sample.entry = static_cast<std::uint64_t>(place.entry);
    sample.preempted = sample.switched && (place.preempted || ready_);
    sample.sleeps_in = place.sleeps_in;
    if (place.entry == Entry::unknown && by_call(sample)) {
      sample.entry = static_cast<std::uint64_t>(Entry::call);
    }
  }
  listener.on_sample(pid, sample, stack);
}

Wake Perf::read_waking(const Fields& fields, const Sample& sample) {
  const Tracepoint& tracepoint = sched_waking();
  static const bool same_numbers = in_first_namespace();
  Wake wake{.tid = sample.tid, .at_ns = sample.at_ns, .weight = kWakes};
  tids_[fields.at<std::uint32_t>(tracepoint.waker)] = sample.tid;
  const auto woken = fields.at<std::uint32_t>(tracepoint.woken);
  const auto known = tids_.find(woken);
  wake.woken = same_numbers ? woken : known != tids_.end() ? known->second : 0;

  // Without names the recorder cannot tell whether a soft interrupt ran within a call of the waker.
  const KernelPlace place = kernel_names().waker(chain_);
  const auto flags = fields.at<std::uint8_t>(tracepoint.flags);
  const std::uint8_t interrupts =
      kernel_names().known() ? kInInterrupt : kInInterrupt | kInSoftInterrupt;
  if (place.entry == Entry::interrupt || (flags & interrupts) != 0) wake.woken = 0;
  if (place.futex) wake.object = sample.registers[kFirstArgument];
  return wake;
}

void Perf::close() {
  for (const Ring& ring : rings_) ::munmap(ring.place, ring.bytes + kPage);
  rings_.clear();
  events_.clear();
  switch_ids_.clear();
  wake_ids_.clear();
}

}  // namespace threadmark
