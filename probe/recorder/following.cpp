// The part of a session that finds the images of processes: the processes that the target makes,
// and the programs that they become.
#include <algorithm>
#include <cerrno>
#include <csignal>

#include "session.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kMostProcesses = 64;  // that are followed at one time

}  // namespace

void Session::follow() {
  follow_ = true;
  if (agent_.made()) agent_.shared().follow.store(1);
}

WatchedImage* Session::image_of(pid_t pid) const {
  const auto known = by_pid_.find(pid);
  return known != by_pid_.end() ? known->second.back() : nullptr;
}

WatchedImage* Session::live_image_of(pid_t pid) const {
  WatchedImage* image = image_of(pid);
  return image != nullptr && image->live ? image : nullptr;
}

WatchedImage* Session::image_at(pid_t pid, std::uint64_t at_ns) const {
  const auto known = by_pid_.find(pid);
  if (known == by_pid_.end()) return nullptr;
  const std::vector<WatchedImage*>& images = known->second;
  std::size_t i = images.size() - 1;
  while (i > 0 && images[i]->entry.from_ns > at_ns) --i;
  return at_ns <= images[i]->until_ns ? images[i] : nullptr;
}

WatchedImage* Session::image_of_agent(ImageId number) const {
  if (number == 0) return images_.front().get();
  return number <= agent_images_.size() ? agent_images_[number - 1] : nullptr;
}

WatchedImage& Session::begin_image(pid_t pid, std::uint64_t at_ns) {
  images_.push_back(
      std::make_unique<WatchedImage>(images_.size() + 1, pid, at_ns, last_module_, files_));
  WatchedImage& image = *images_.back();
  image.folder =
      Descriptor(::open(format("/proc/%d/task", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  by_pid_[pid].push_back(&image);
  live_images_.push_back(&image);
  return image;
}

void Session::end_image(WatchedImage& image, std::uint64_t at_ns) {
  if (!image.live) return;
  image.live = false;
  image.until_ns = at_ns;
  image.folder.close();
  for (Watched* thread : live_) {
    if (thread->image == &image) end_thread(*thread, at_ns);
  }
}

WatchedImage& Session::replace_image(WatchedImage& image, std::uint64_t at_ns) {
  WatchedImage& next = begin_image(image.pid, at_ns);
  next.executed = true;
  next.tids = image.tids;
  for (Watched* thread : live_) {
    if (thread->image == &image) thread->image = &next;
  }
  end_image(image, at_ns);
  return next;
}

WatchedImage* Session::follow_process(pid_t pid, pid_t parent, std::uint64_t at_ns, bool executed) {
  if (!follow_ || pid <= 0) return nullptr;
  if (live_images_.size() >= kMostProcesses) {
    ++left_out_;
    return nullptr;
  }
  if (parent == 0 && !executed) parent = parent_of(pid);
  WatchedImage* maker = executed ? nullptr : image_of(parent);
  if (maker != nullptr && maker->live && maker->maps_stale) maker = &refresh_maps(*maker, at_ns);
  WatchedImage& image = begin_image(pid, at_ns);
  if (!image.folder) {  // it has ended
    image.live = false;
    image.until_ns = now_ns();
    live_images_.pop_back();
  } else {
    list_tasks(image.folder, image.tids);
  }
  if (maker != nullptr) {
    image.entry.forked = maker->entry.id;
    image.modules.inherit(maker->modules);
  }
  look_at_slots_ = true;
  return &image;
}

// Takes an image that the agent has noted: the recorder knows the image already, or the process has
// become another program, or the process is new.
WatchedImage* Session::take_image(const Image& told, std::uint64_t at_ns) {
  const pid_t pid = told.pid.load();
  const pid_t forked = told.forked.load();
  const std::uint64_t begin_ns = std::min(told.begin_ns.load(), at_ns);
  const bool executed = forked == 0;
  if (const auto known = by_pid_.find(pid); known != by_pid_.end()) {
    for (WatchedImage* image : known->second) {
      const bool lives_then = image->live || begin_ns <= image->until_ns;
      if (image->number == 0 && image->executed == executed && lives_then) return image;
    }
    WatchedImage& last = *known->second.back();
    if (last.live && executed) return &replace_image(last, begin_ns);
  }
  WatchedImage* image = nullptr;
  if (live_image_of(pid) == nullptr && agent_.is_mapped_by(pid)) {
    image = follow_process(pid, forked, begin_ns, executed);
  }
  if (image == nullptr) {  // it has ended, or is one too many: keep its stacks apart
    images_.push_back(
        std::make_unique<WatchedImage>(images_.size() + 1, pid, begin_ns, last_module_, files_));
    image = images_.back().get();
    image->live = false;
    image->until_ns = at_ns;
    if (const WatchedImage* maker = image_of(forked)) image->entry.forked = maker->entry.id;
  }
  image->executed = executed;
  return image;
}

void Session::take_images(std::uint64_t at_ns) {
  if (!agent_.attached()) return;
  Shared& shared = agent_.shared();
  const std::size_t used = std::min<std::size_t>(shared.images_used.load(), kImages);
  agent_images_.resize(used);
  for (std::size_t i = unknown_images_; i < used; ++i) {
    if (agent_images_[i] == nullptr && shared.images[i].pid.load() > 0) {
      agent_images_[i] = take_image(shared.images[i], at_ns);
      agent_images_[i]->number = static_cast<ImageId>(i + 1);
    }
    if (agent_images_[i] != nullptr && i == unknown_images_) ++unknown_images_;
  }
}

void Session::find_children(std::uint64_t at_ns) {
  constexpr std::size_t kMostThreads = 64;  // that are asked
  std::vector<pid_t> found;
  for (std::size_t i = 0; i < live_images_.size(); ++i) {
    const WatchedImage& image = *live_images_[i];
    found.clear();
    for (std::size_t t = 0; t < std::min(image.tids.size(), kMostThreads); ++t) {
      children_of(image.pid, image.tids[t], found);
    }
    for (const pid_t child : found) {
      if (live_image_of(child) != nullptr || has_ended(child)) continue;
      const WatchedImage* made = follow_process(child, image.pid, at_ns);
      // Perf events cover the processes that are made from now on.
      const bool ran_before = start_.attached == kAttached && ticks_taken_ == 0;
      if (made != nullptr && ran_before && perf_.is_open()) open_perf(made->tids, false);
    }
  }
}

// Finds the child that takes most of the processors, among children that are not followed.
void Session::look_at_children() {
  std::vector<pid_t> found;
  for (const pid_t tid : images_.front()->tids) children_of(pid_, tid, found);
  for (std::size_t i = 0; i < found.size() && i < kMostProcesses; ++i) {
    children_of(found[i], found[i], found);
    std::string name = read_all(format("/proc/%d/comm", found[i]).c_str());
    if (name.ends_with('\n')) name.pop_back();
    const ProcessorTicks used = processor_ticks_of(found[i]);
    Child& child = children_[found[i]];
    if (!name.empty()) child.name = std::move(name);
    child.processor_ticks = std::max(child.processor_ticks, used.own);
  }
}

void Session::say_of_children(std::uint64_t at_ns) {
  for (WatchedImage* image : live_images_) {
    if (image->pid != pid_ && has_ended(image->pid)) end_image(*image, at_ns);
  }
  std::erase_if(live_images_, [](const WatchedImage* image) { return !image->live; });
  if (left_out_ > 0) {
    limit(format("More than %zu processes ran at one time; the others were not recorded.",
                 kMostProcesses));
  }
  if (live_images_.size() > 1) {
    limit(
        format("Processes that still ran when the first one had ended were left alone; what they "
               "did later was not recorded (%zu).",
               live_images_.size() - 1));
  }
  std::size_t without = 0;
  for (const auto& [pid, images] : by_pid_) {
    const WatchedImage& last = *images.back();
    if (pid != pid_ && last.looks > 8 && !last.has_agent) ++without;
  }
  if (agent_.attached() && without > 0) {
    limit(
        format("The agent was not loaded by %zu of the processes that the program started; their "
               "waits were seen from outside only.",
               without));
  }
}

}  // namespace threadmark
