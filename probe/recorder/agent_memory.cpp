// The shared memory from the recorder's side.
#include "agent_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

namespace threadmark {

AgentMemory::~AgentMemory() {
  if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
}

bool AgentMemory::make() {
  file_ = Descriptor(::memfd_create("threadmark", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file_ || ::ftruncate(file_.get(), sizeof(Shared)) != 0) return false;
  // A target that could shorten the memory would kill the recorder with SIGBUS.
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return false;
  void* place = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (place == MAP_FAILED) return false;
  shared_ = static_cast<Shared*>(place);
  shared_->magic = kMagic;
  shared_->version = kVersion;
  shared_->size_checked = static_cast<std::uint32_t>(sizeof(Shared));
  return true;
}

std::string AgentMemory::path() const { return format("/proc/%d/fd/%d", ::getpid(), file_.get()); }

bool AgentMemory::is_mapped_by(pid_t pid) const {
  struct stat own{};
  if (::fstat(file_.get(), &own) != 0) return false;
  const std::string inode = format(" %llu ", static_cast<unsigned long long>(own.st_ino));
  const std::string maps = read_all(format("/proc/%d/maps", pid).c_str());
  for (std::size_t at = 0; (at = maps.find("/memfd:threadmark", at)) != std::string::npos; ++at) {
    const std::size_t begin = maps.rfind('\n', at) + 1;
    if (maps.substr(begin, at - begin).find(inode) != std::string::npos) return true;
  }
  return false;
}

bool AgentMemory::wait_of(const Thread& thread, AgentWait& wait) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::uint32_t before = thread.version.load();
    wait.activity = thread.activity.load();
    wait.object = thread.object.load();
    wait.stack = thread.stack.load();
    wait.awaited = thread.awaited.load();
    wait.since_ns = thread.since_ns.load();
    if (before % 2 == 0 && thread.version.load() == before) {
      return wait.activity < kActivities && wait.object <= kObjects && wait.stack <= kStacks;
    }
  }
  return false;
}

std::vector<std::uint64_t> AgentMemory::frames_of(StackId id) const {
  std::vector<std::uint64_t> frames;
  if (id == 0 || id > kStacks) return frames;
  const Stack& stack = shared_->stacks[id - 1];
  const std::size_t depth = stack.depth.load();
  const std::size_t first = stack.first.load();
  if (depth > kMostFrames || first > kFrames - depth) return frames;
  for (std::size_t i = 0; i < depth; ++i) frames.push_back(shared_->frames[first + i].load());
  return frames;
}

void AgentMemory::for_each_written(const void* table, std::size_t entry_bytes, std::size_t entries,
                                   const std::function<void(std::size_t)>& each) const {
  const auto begin =
      static_cast<off_t>(static_cast<const char*>(table) - reinterpret_cast<const char*>(shared_));
  const off_t end = begin + static_cast<off_t>(entry_bytes * entries);
  std::size_t next = 0;
  for (off_t at = begin; at < end;) {
    const off_t data = ::lseek(file_.get(), at, SEEK_DATA);
    if (data < 0 || data >= end) return;
    off_t hole = ::lseek(file_.get(), data, SEEK_HOLE);
    if (hole < 0 || hole > end) hole = end;
    const auto first = static_cast<std::size_t>(data - begin) / entry_bytes;
    const auto last = (static_cast<std::size_t>(hole - begin) + entry_bytes - 1) / entry_bytes;
    for (std::size_t i = std::max(first, next); i < std::min(last, entries); ++i) each(i);
    next = std::max(next, last);
    at = hole;
  }
}

}  // namespace threadmark
