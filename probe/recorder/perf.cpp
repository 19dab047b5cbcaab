// Perf events: opening them as the kernel allows, and reading their buffers.
#include "perf.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace threadmark {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStackBytes = 16384;

#if defined(__x86_64__)
// Where the registers of kRegisters stand among the kernel's numbers, and the mask of them all.
constexpr std::array<unsigned, kRegisters.size()> kKernelNumber = {8,  7,  0,  1,  2,  3,  4,  5, 6,
                                                                   16, 17, 18, 19, 20, 21, 22, 23};
constexpr std::array<unsigned, kRegisters.size()> kDwarfNumber = {16, 7, 0,  3,  2,  1,  4,  5, 6,
                                                                  8,  9, 10, 11, 12, 13, 14, 15};
#else
// pc, sp and what stands first; bp is the frame pointer and r8 the link register.
constexpr std::array<unsigned, kRegisters.size()> kKernelNumber = {
    32, 31, 0, 1, 2, 3, 4, 5, 29, 30, 19, 20, 21, 22, 23, 24, 25};
constexpr std::array<unsigned, kRegisters.size()> kDwarfNumber = {32, 31, 0,  1,  2,  3,  4,  5, 29,
                                                                  30, 19, 20, 21, 22, 23, 24, 25};
#endif

constexpr std::uint64_t kRegisterMask = [] {
  std::uint64_t mask = 0;
  for (const unsigned number : kKernelNumber) mask |= std::uint64_t{1} << number;
  return mask;
}();

// Takes numbers from an event's bytes, which the kernel wrote; still nothing is read beyond them.
class Fields {
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

 private:
  const char* at_;
  std::size_t left_;
};

int processors_configured() {
  const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count > 0 ? static_cast<int>(count) : 1;
}

int open_event(perf_event_attr& attributes, pid_t tid, int processor) {
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, tid, processor, -1, PERF_FLAG_FD_CLOEXEC));
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
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = period_ns();
  attributes.sample_type =
      PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = kRegisterMask;
  attributes.sample_stack_user = kStackBytes;
  attributes.disabled = from_exec;
  attributes.enable_on_exec = from_exec;
  attributes.inherit = 1;
  attributes.inherit_thread = !follow;
  attributes.exclude_hv = 1;
  attributes.exclude_kernel = decided_ && !kernel_;
  attributes.exclude_callchain_kernel = 1;
  attributes.mmap = 1;
  attributes.task = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;

  int error = ENODEV;
  const int processors = processors_configured();
  for (int processor = 0; processor < processors; ++processor) {
    int event = open_event(attributes, tid, processor);
    if (event < 0 && !decided_ && (errno == EACCES || errno == EPERM)) {
      attributes.exclude_kernel = 1;
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
    const auto ring = std::find_if(rings_.begin(), rings_.end(),
                                   [&](const Ring& r) { return r.processor == processor; });
    if (ring != rings_.end()) {
      if (::ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, ring->first) != 0) return errno;
    } else if (!map(event, processor)) {
      return errno;
    }
    events_.push_back(std::move(held));
    error = 0;
  }
  return error;
}

bool Perf::map(int event, int processor) {
  // What one user may lock is limited, by default to 516 KiB for each processor.
  for (std::size_t bytes = std::size_t{512} << 10; bytes >= std::size_t{64} << 10; bytes /= 2) {
    void* place = ::mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (place == MAP_FAILED) continue;
    rings_.push_back({processor, place, bytes, event});
    return true;
  }
  return false;
}

void Perf::read(PerfListener& listener) {
  for (const Ring& ring : rings_) read_ring(ring, listener);
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
    read_event(event.type, event.misc, whole + sizeof event, event.size - sizeof event, listener);
    tail += event.size;
  }
  std::atomic_ref(page->data_tail).store(head);
}

void Perf::read_event(std::uint32_t type, std::uint16_t misc, const char* body, std::size_t size,
                      PerfListener& listener) const {
  Fields fields(body, size);
  switch (type) {
    case PERF_RECORD_SAMPLE: {
      Sample sample;
      fields.take<std::uint32_t>();
      sample.tid = fields.take<std::uint32_t>();
      sample.at_ns = fields.take<std::uint64_t>();
      sample.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
      if (fields.take<std::uint64_t>() == PERF_SAMPLE_REGS_ABI_NONE) return;  // no user's thread
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
      listener.on_sample(sample, stack);
      break;
    }
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      const auto pid = fields.take<std::uint32_t>();
      fields.take<std::uint32_t>();
      const auto tid = fields.take<std::uint32_t>();
      const auto maker = fields.take<std::uint32_t>();
      const auto at_ns = fields.take<std::uint64_t>();
      if (type == PERF_RECORD_FORK) {
        listener.on_thread_begin(static_cast<pid_t>(pid), static_cast<pid_t>(tid),
                                 static_cast<pid_t>(maker), at_ns);
      } else {
        listener.on_thread_end(static_cast<pid_t>(tid), at_ns);
      }
      break;
    }
    case PERF_RECORD_MMAP:
      listener.on_mapping();
      break;
    case PERF_RECORD_LOST:
      fields.take<std::uint64_t>();
      listener.on_lost(fields.take<std::uint64_t>());
      break;
    default:
      break;
  }
}

void Perf::close() {
  for (const Ring& ring : rings_) ::munmap(ring.place, ring.bytes + kPage);
  rings_.clear();
  events_.clear();
}

}  // namespace threadmark
