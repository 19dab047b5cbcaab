// The reader of the record: the first pass collects the tables, the second prints ticks and
// samples.
#include "reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "contention.hpp"
#include "entries.hpp"
#include "format.hpp"
#include "streams.hpp"
#include "system.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kMostModules = 65536;

constexpr std::string_view kActivityNames[] = {
    "running",         "mutex",   "read_lock", "write_lock", "spin_lock", "condition", "relock",
    "timed_condition", "barrier", "semaphore", "join",       "once",      "futex",     "sleep",
    "yield",           "poll",    "io",        "creating",   "starting"};
static_assert(std::size(kActivityNames) == kActivities);
constexpr std::string_view kKindNames[] = {"mutex",   "rwlock",    "spin_lock", "condition",
                                           "barrier", "semaphore", "thread",    "once",
                                           "futex",   "file"};
constexpr std::string_view kTypeNames[] = {"normal", "recursive", "errorcheck", "adaptive"};
constexpr std::string_view kRegionNames[] = {"unknown", "heap", "stack", "file", "anonymous"};
constexpr std::string_view kEntryNames[] = {"", "call", "fault", "interrupt"};
constexpr std::string_view kLostNames[] = {"threads",        "objects", "stacks",
                                           "pairs",          "holds",   "samples",
                                           "outside_stacks", "files",   "processes"};

std::string_view name_in(const auto& names, std::uint64_t index) {
  return index < std::size(names) ? std::string_view(names[index]) : "unknown";
}
std::string_view activity_name(std::uint64_t activity) {
  return activity == kActivityBlocked ? "blocked" : name_in(kActivityNames, activity);
}

// The number of bytes of the valid UTF-8 character that begins here; 0: none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // The encoding is longer than needed, a surrogate, or beyond the last character.
  if ((first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) > 0x9f) ||
      (first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) > 0x8f)) {
    return 0;
  }
  return length;
}

// JSON text that goes to the sink in large parts.
class Json {
 public:
  explicit Json(Sink& sink) : sink_(sink) {}

  Json& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Json& number(std::uint64_t value) {
    char digits[24];
    const int length = std::snprintf(digits, sizeof digits, "%llu",
                                     static_cast<unsigned long long>(value));  // NOLINT
    return raw({digits, static_cast<std::size_t>(length)});
  }
  Json& field(std::string_view name, std::uint64_t value) {
    return raw(",\"").raw(name).raw("\":").number(value);
  }
  Json& field(std::string_view name, std::string_view value) {
    return raw(",\"").raw(name).raw("\":").text(value);
  }
  Json& flag(std::string_view name, bool value) {
    return raw(",\"").raw(name).raw(value ? "\":true" : "\":false");
  }
  Json& text(std::string_view value) {
    text_ += '"';
    while (!value.empty()) {
      const std::size_t length = utf8_length(value);
      const auto first = static_cast<unsigned char>(value.front());
      if (length == 0) {
        text_ += "\\ufffd";
      } else if (first < 0x20 || first == 0x7f) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", first);
        text_ += escaped;
      } else {
        if (first == '"' || first == '\\') text_ += '\\';
        text_ += value.substr(0, length);
      }
      value.remove_prefix(std::max<std::size_t>(length, 1));
    }
    text_ += '"';
    return *this;
  }
  template <class Values, class Each>
  Json& list(const Values& values, Each each) {
    text_ += '[';
    bool first = true;
    for (const auto& value : values) {
      if (!first) text_ += ',';
      first = false;
      each(value);
      flush_if(1 << 20);
    }
    text_ += ']';
    return *this;
  }
  void end_line() {
    text_ += "}\n";
    flush_if(1 << 16);
  }
  void flush_if(std::size_t size) {
    if (text_.size() < size) return;
    if (good_) good_ = sink_.take(text_);
    text_.clear();
  }
  bool good() const { return good_; }

 private:
  Sink& sink_;
  std::string text_;
  bool good_ = true;
};

// Entries by id; the last entry of an id holds.
template <class Entry>
class Table {
 public:
  void take_all(Decoder from, std::size_t most = ~std::size_t{0}) {
    while (from.more() && entries_.size() < most) {
      Entry entry = take<Entry>(from);
      if (from.good()) entries_.push_back(std::move(entry));
    }
  }
  void settle() {
    std::vector<std::size_t> order(entries_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return entries_[a].id != entries_[b].id ? entries_[a].id < entries_[b].id : a < b;
    });
    std::vector<Entry> kept;
    for (std::size_t i = 0; i < order.size(); ++i) {
      Entry& entry = entries_[order[i]];
      if (i + 1 < order.size() && entries_[order[i + 1]].id == entry.id) continue;
      kept.push_back(std::move(entry));
    }
    entries_ = std::move(kept);
  }
  const Entry* find(std::uint64_t id) const {
    const auto place = std::lower_bound(entries_.begin(), entries_.end(), id,
                                        [](const Entry& e, std::uint64_t i) { return e.id < i; });
    return place != entries_.end() && place->id == id ? &*place : nullptr;
  }
  bool has(std::uint64_t id) const { return find(id) != nullptr; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

class Printing {
 public:
  Printing(std::string_view bytes, Sink& sink) : bytes_(bytes), json_(sink) {}

  Printed print() {
    if (!collect()) return Printed::no_record;
    say_record();
    say_tables();
    for_each_chunk([&](Chunk kind, std::string_view body) {
      if (kind == Chunk::ticks) say_ticks(body);
      if (kind == Chunk::samples) say_samples(body);
      if (kind == Chunk::wakes) say_wakes(body);
    });
    json_.raw("{\"kind\":\"end\"").end_line();
    json_.flush_if(1);
    if (!json_.good()) return Printed::not_taken;
    return ended_ && damage_.empty() ? Printed::whole : Printed::partial;
  }

 private:
  // Calls `each` with the chunks that are whole. If the next chunk begins in its place, the reader
  // skips a damaged chunk; else it reads nothing beyond it.
  template <class Each>
  void for_each_chunk(Each each) {
    std::size_t at = 0;
    while (bytes_.size() - at >= sizeof(ChunkHead)) {
      ChunkHead head;
      std::memcpy(&head, bytes_.data() + at, sizeof head);
      if (head.magic != kChunkMagic || head.length > kMostChunkBytes ||
          head.length > bytes_.size() - at - sizeof head) {
        break;
      }
      const std::string_view body = bytes_.substr(at + sizeof head, head.length);
      at += sizeof head + head.length;
      if (checksum_of(head, body.data()) == head.checksum) {
        each(static_cast<Chunk>(head.type), body);
      } else {
        damaged_ = true;
      }
    }
    unread_ = bytes_.size() - at;
  }

  bool collect() {
    std::size_t chunks = 0;
    bool right = false;
    bool whole = true;
    for_each_chunk([&](Chunk kind, std::string_view body) {
      Decoder from(body);
      ++chunks;
      if (chunks == 1) {
        if (kind != Chunk::start) return;
        start_ = take<StartEntry>(from);
        right = from.good() && start_.version == kFormatVersion;
      }
      if (!right) return;
      ended_ = false;
      switch (kind) {
        case Chunk::status: {
          StatusEntry status = take<StatusEntry>(from);
          if (from.good()) status_ = std::move(status);
          break;
        }
        case Chunk::contention: {
          ContentionEntry contention = take<ContentionEntry>(from);
          if (from.good()) contention_ = std::move(contention);
          break;
        }
        case Chunk::modules:
          modules_.take_all(from, kMostModules);
          break;
        case Chunk::images:
          images_.take_all(from);
          break;
        case Chunk::stacks:
          stacks_.take_all(from);
          break;
        case Chunk::threads:
          threads_.take_all(from);
          break;
        case Chunk::objects:
          objects_.take_all(from);
          break;
        case Chunk::pairs:
          pairs_.take_all(from);
          break;
        case Chunk::holds:
          holds_.take_all(from);
          break;
        case Chunk::symbols:
          symbols_.take_all(from);
          break;
        case Chunk::code:
          code_.take_all(from);
          break;
        case Chunk::ticks:
          whole &= read_ticks(from, [](auto) {}, [](const auto&) {}, [] {});
          break;
        case Chunk::samples:
          whole &= read_samples(from, [](const auto&) {});
          break;
        case Chunk::wakes:
          sees_wakes_ = true;
          whole &= read_wakes(from, [](const auto&) {});
          break;
        case Chunk::end:
          ended_ = true;
          break;
        case Chunk::start:
          break;
      }
    });
    if (!right) return false;
    if (unread_ != 0) {
      damage_ =
          format("The last %zu bytes of the record are not whole and were left out.", unread_);
    } else if (damaged_ || !whole) {
      damage_ = "Parts of the record are damaged and were left out.";
    } else if (!ended_) {
      damage_ = "The recorder did not come to its end, so up to the last second is missing.";
    }
    images_.settle();
    modules_.settle();
    stacks_.settle();
    threads_.settle();
    objects_.settle();
    pairs_.settle();
    holds_.settle();
    symbols_.settle();
    code_.settle();
    sort_modules();
    join_objects();
    return true;
  }

  // The modules of an image by address, with the highest end so far, so that a search can stop.
  struct Places {
    std::vector<const ModuleEntry*> by_low;
    std::vector<std::uint64_t> highest;
  };

  void sort_modules() {
    for (const ModuleEntry& module : modules_.entries()) {
      places_[module.image].by_low.push_back(&module);
    }
    for (auto& [image, places] : places_) {
      std::sort(places.by_low.begin(), places.by_low.end(),
                [](const ModuleEntry* a, const ModuleEntry* b) { return a->low < b->low; });
      std::uint64_t high = 0;
      for (const ModuleEntry* module : places.by_low) {
        places.highest.push_back(high = std::max(high, module->high));
      }
    }
  }

  // The module at an address of an image at a time, or the module that was there nearest to that
  // time. A forked image has the modules that its maker had at the fork, where it has none of its
  // own.
  const ModuleEntry* module_at(std::uint64_t image, std::uint64_t address,
                               std::uint64_t at_ns) const {
    const ModuleEntry* nearest = nullptr;
    for (int depth = 0; depth < 64; ++depth) {
      std::uint64_t distance = ~std::uint64_t{0};
      const ModuleEntry* found = own_module_at(image, address, at_ns, distance);
      if (distance == 0) return found;
      if (nearest == nullptr) nearest = found;
      const ImageEntry* entry = images_.find(image);
      if (entry == nullptr || entry->forked == 0 || entry->forked >= image) break;
      at_ns = std::min(at_ns, entry->from_ns);
      image = entry->forked;
    }
    return nearest;
  }

  const ModuleEntry* own_module_at(std::uint64_t image, std::uint64_t address, std::uint64_t at_ns,
                                   std::uint64_t& distance) const {
    const auto known = places_.find(image);
    if (known == places_.end()) return nullptr;
    const auto& [by_low, highest] = known->second;
    auto i = static_cast<std::size_t>(
        std::upper_bound(by_low.begin(), by_low.end(), address,
                         [](std::uint64_t a, const ModuleEntry* m) { return a < m->low; }) -
        by_low.begin());
    const ModuleEntry* nearest = nullptr;
    for (; i-- > 0 && highest[i] > address && distance != 0;) {
      const ModuleEntry& m = *by_low[i];
      if (address >= m.high) continue;
      const bool late = m.until_ns != 0 && at_ns >= m.until_ns;
      const std::uint64_t away = at_ns < m.from_ns ? m.from_ns - at_ns
                                 : late            ? at_ns - m.until_ns + 1
                                                   : 0;
      if (nearest == nullptr || away < distance) {
        nearest = &m;
        distance = away;
      }
    }
    return nearest;
  }

  std::uint64_t known_stack(std::uint64_t id) const { return stacks_.has(id) ? id : 0; }
  std::uint64_t known_object(std::uint64_t id) const {
    if (const auto same = same_object_.find(id); same != same_object_.end()) return same->second;
    return objects_.has(id) ? id : 0;
  }

  // A word that the recorder saw threads wait for may lie in an object that the agent knows. A
  // shared object is known by its address in any of its processes.
  void join_objects() {
    using Place = std::pair<std::uint64_t, std::uint64_t>;  // image, address
    std::vector<std::pair<Place, const ObjectEntry*>> known;
    const auto place_of = [](const ObjectEntry& e) {
      return Place{(e.type & kSharedByProcesses) != 0 ? 0 : e.image, e.address};
    };
    for (const ObjectEntry& e : objects_.entries()) {
      if (e.sampled == 0 && size_of(e.kind) != 0) known.emplace_back(place_of(e), &e);
    }
    std::sort(known.begin(), known.end());
    for (const ObjectEntry& e : objects_.entries()) {
      if (e.sampled == 0) continue;
      const Place place = place_of(e);
      const auto next = std::upper_bound(known.begin(), known.end(), place,
                                         [](const Place& a, const auto& o) { return a < o.first; });
      if (next == known.begin()) continue;
      const auto& [at, object] = *(next - 1);
      if (at.first == place.first && e.address - at.second < size_of(object->kind)) {
        same_object_[e.id] = object->id;
      }
    }
  }

  // The size of an object in glibc, 0 for an object without memory.
  static std::uint64_t size_of(std::uint64_t kind) {
    switch (static_cast<ObjectKind>(kind)) {
      case ObjectKind::mutex:
        return 40;
      case ObjectKind::rwlock:
        return 56;
      case ObjectKind::condition:
        return 48;
      case ObjectKind::barrier:
      case ObjectKind::semaphore:
        return 32;
      case ObjectKind::spin_lock:
      case ObjectKind::once:
      case ObjectKind::futex:
        return 4;
      default:
        return 0;
    }
  }

  void say_record() {
    json_.raw("{\"kind\":\"record\",\"version\":1,\"command\":");
    json_.list(start_.command, [&](const std::string& word) { json_.text(word); });
    json_.field("pid", start_.pid).field("began_ns", start_.began_ns);
    json_.field("ended_ns", status_.ended_ns).field("exit_status", status_.exit_status);
    json_.field("signal", status_.signal);
    json_.flag("complete", ended_ && damage_.empty() && status_.complete != 0);
    json_.raw(",\"tier\":{\"agent\":").raw(status_.agent != 0 ? "true" : "false");
    json_.flag("perf", status_.perf != 0).flag("perf_kernel", status_.perf_kernel != 0);
    json_.flag("switches", status_.switches != 0);
    json_.flag("kernel_names", status_.kernel_names != 0);
    json_.flag("tracepoints", sees_wakes_).flag("attached", start_.attached == kAttached);
    json_.flag("late", start_.attached != 0);
    json_.field("sample_ns", status_.sample_ns).field("kernel_ns", status_.kernel_ns).raw("}");
    json_.field("processors", start_.processors).raw(",\"cpus\":");
    json_.list(start_.cpus, [&](std::uint64_t cpu) { json_.number(cpu); });
    json_.field("tick_ns", start_.tick_ns).raw(",\"limits\":");
    if (!damage_.empty()) status_.limits.push_back(damage_);
    json_.list(status_.limits, [&](const std::string& sentence) { json_.text(sentence); });
    json_.field("agent_ns", status_.agent_ns).field("steal_ns", status_.steal_ns);
    json_.field("throttled_ns", status_.throttled_ns).raw(",\"lost\":{");
    for (std::size_t i = 0; i < std::min(status_.lost.size(), std::size(kLostNames)); ++i) {
      json_.raw(i == 0 ? "\"" : ",\"").raw(kLostNames[i]).raw("\":").number(status_.lost[i]);
    }
    json_.raw("},\"machine\":{\"kernel\":").text(start_.kernel);
    json_.field("glibc", std::string_view(status_.glibc));
    say_contention();
    json_.raw("}").end_line();
  }

  void say_contention() {
    constexpr std::array<const char*, kOperations> kNames = {"add", "exchange", "write", "beside"};
    const std::vector<std::uint64_t>& costs = contention_.costs_ps;
    if (contention_.threads == 0) return;
    json_.raw(",\"contention\":{\"threads\":").number(contention_.threads);
    for (std::size_t i = 0; i < std::min(kNames.size(), costs.size() / 2); ++i) {
      json_.raw(",\"").raw(kNames[i]).raw("\":[").number(costs[2 * i]).raw(",");
      json_.number(costs[2 * i + 1]).raw("]");
    }
    json_.raw("}");
  }

  void say_tables() {
    for (const ModuleEntry& e : modules_.entries()) {
      json_.raw("{\"kind\":\"module\"").field("id", e.id).field("path", std::string_view(e.path));
      json_.field("build_id", std::string_view(e.build_id)).field("low", e.low);
      json_.field("high", e.high).field("offset", e.offset).field("bias", e.bias);
      json_.field("from_ns", e.from_ns).field("until_ns", e.until_ns);
      say_process(process_of(e.image)).end_line();
    }
    for (const StackEntry& e : stacks_.entries()) {
      json_.raw("{\"kind\":\"stack\"").field("id", e.id).flag("exact", e.exact != 0);
      json_.raw(",\"frames\":");
      bool innermost = true;
      json_.list(e.frames, [&](std::uint64_t frame) {
        // A return address may be the first address after the module; the call before it is inside.
        const bool call = !(innermost && e.exact != 0) && frame != 0;
        innermost = false;
        const ModuleEntry* module = module_at(e.image, call ? frame - 1 : frame, e.at_ns);
        json_.raw("[").number(module != nullptr ? module->id : 0).raw(",");
        json_.number(module != nullptr ? frame - module->bias : frame).raw("]");
      });
      json_.end_line();
    }
    for (const ThreadEntry& e : threads_.entries()) {
      json_.raw("{\"kind\":\"thread\"").field("tid", e.tid).field("name", std::string_view(e.name));
      say_process(e.process);
      json_.field("maker", e.maker).field("made_at", known_stack(e.made_at));
      json_.field("began_ns", e.began_ns).field("ended_ns", e.ended_ns);
      json_.field("run_ns", e.run_ns).field("ready_ns", e.ready_ns).raw(",\"allowed\":[");
      say_bits(e.allowed);
      json_.raw("],\"totals\":{");
      for (std::size_t i = 0; i + 2 < e.totals.size(); i += 3) {
        json_.raw(i == 0 ? "\"" : ",\"").raw(activity_name(e.totals[i])).raw("\":{\"ns\":");
        json_.number(e.totals[i + 1]).field("times", e.totals[i + 2]).raw("}");
      }
      json_.raw("}").end_line();
    }
    for (const ObjectEntry& e : objects_.entries()) {
      if (!same_object_.contains(e.id)) say_object(e);
    }
    for (const PairEntry& e : pairs_.entries()) {
      json_.raw("{\"kind\":\"pair\"").field("object", known_object(e.object));
      json_.field("activity", activity_name(e.activity)).field("waiter", known_stack(e.waiter));
      json_.field("holder", known_stack(e.holder)).field("waits", e.waits);
      json_.field("wait_ns", e.wait_ns).end_line();
    }
    for (const HoldEntry& e : holds_.entries()) {
      json_.raw("{\"kind\":\"hold\"").field("object", known_object(e.object));
      json_.field("stack", known_stack(e.stack)).field("holds", e.holds);
      json_.field("hold_ns", e.hold_ns).field("blamed_ns", e.blamed_ns).end_line();
    }
    for (const SymbolEntry& e : symbols_.entries()) {
      json_.raw("{\"kind\":\"symbol\"").field("module", e.module).field("address", e.address);
      json_.field("size", e.size).flag("data", e.data != 0);
      json_.field("name", std::string_view(e.name)).end_line();
    }
    for (const CodeEntry& e : code_.entries()) {
      json_.raw("{\"kind\":\"code\"").field("module", e.module).field("address", e.address);
      json_.raw(",\"bytes\":\"");
      for (const char byte : e.bytes) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        const auto value = static_cast<unsigned char>(byte);
        const char digits[] = {kDigits[value >> 4], kDigits[value & 15]};
        json_.raw({digits, sizeof digits});
      }
      json_.raw("\"").end_line();
    }
  }

  void say_bits(const std::vector<std::uint64_t>& words) {
    bool first = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (unsigned bit = 0; bit < 64; ++bit) {
        if ((words[i] >> bit & 1) == 0) continue;
        json_.raw(first ? "" : ",").number(i * 64 + bit);
        first = false;
      }
      json_.flush_if(1 << 20);
    }
  }

  std::uint64_t process_of(std::uint64_t image) const {
    const ImageEntry* entry = images_.find(image);
    return entry != nullptr ? entry->pid : 0;
  }

  // The line has no process for the first process and for shared objects.
  Json& say_process(std::uint64_t pid) {
    return pid != 0 && pid != start_.pid ? json_.field("process", pid) : json_;
  }

  void say_object(const ObjectEntry& e) {
    const bool addressed = e.kind != static_cast<std::uint64_t>(ObjectKind::thread) &&
                           e.kind != static_cast<std::uint64_t>(ObjectKind::file);
    const ModuleEntry* module = addressed ? module_at(e.image, e.address, e.at_ns) : nullptr;
    json_.raw("{\"kind\":\"object\"").field("id", e.id).field("what", name_in(kKindNames, e.kind));
    json_.field("address", e.address).field("module", module != nullptr ? module->id : 0);
    json_.field("offset", module != nullptr ? e.address - module->bias : 0);
    if (module == nullptr && addressed) json_.field("region", name_in(kRegionNames, e.region));
    if (e.thread != 0) json_.field("thread", e.thread);
    json_.field("made_at", known_stack(e.made_at))
        .field("type", name_in(kTypeNames, e.type & 0xff));
    const bool shared = (e.type & kSharedByProcesses) != 0;
    say_process(shared ? 0 : process_of(e.image));
    json_.flag("shared", shared).flag("sampled", e.sampled != 0);
    json_.field("waits", e.waits).field("wait_ns", e.wait_ns).field("longest_ns", e.longest_ns);
    json_.field("holds", e.holds).field("hold_ns", e.hold_ns).field("signals", e.signals);
    json_.field("broadcasts", e.broadcasts)
        .field("signal_ns", e.signal_ns)
        .field("signal_stack", known_stack(e.signal_stack));
    if (e.kind == static_cast<std::uint64_t>(ObjectKind::condition))
      json_.field("mutex", known_object(e.mutex)).field("futile", e.futile);
    json_.end_line();
    if (e.kind != static_cast<std::uint64_t>(ObjectKind::file)) return;
    json_.raw("{\"kind\":\"file\",\"tid\":0").field("object", e.id);
    json_.field("descriptor", e.address).field("path", std::string_view(e.path));
    json_.field("calls", e.waits).field("writes", e.writes).field("bytes", e.bytes);
    json_.field("ns", e.wait_ns).end_line();
  }

  void say_ticks(std::string_view body) {
    bool first = true;
    read_ticks(
        Decoder(body),
        [&](std::uint64_t at_ns) {
          json_.raw("{\"kind\":\"tick\"").field("at_ns", at_ns).raw(",\"threads\":[");
          first = true;
        },
        [&](const TickThread& t) {
          json_.raw(first ? "[" : ",[").number(t.tid).raw(",").text(activity_name(t.activity));
          first = false;
          json_.raw(",").number(known_object(t.object)).raw(",").number(known_stack(t.stack));
          const char state = t.state >= 'A' && t.state <= 'z' ? static_cast<char>(t.state) : '?';
          json_.raw(",").number(t.awaited).raw(",").text(std::string_view(&state, 1)).raw(",");
          if (t.call == 0) {
            json_.raw("-1");
          } else {
            json_.number(t.call - 1);
          }
          json_.raw(",").number(t.run_ns).raw(",").number(t.ready_ns).raw("]");
          json_.flush_if(1 << 20);
        },
        [&] { json_.raw("]").end_line(); });
  }

  void say_samples(std::string_view body) {
    read_samples(Decoder(body), [&](const Sample& s) {
      json_.raw("{\"kind\":\"sample\"").field("tid", s.tid).field("at_ns", s.at_ns);
      json_.field("stack", known_stack(s.stack)).flag("kernel", s.kernel);
      if (s.kernel) json_.field("entry", name_in(kEntryNames, s.entry));
      if (s.switched) {
        json_.flag("switch", true).field("weight", s.weight).flag("preempted", s.preempted);
        json_.field("sleeps_in", std::string_view(s.sleeps_in));
      }
      json_.raw(",\"registers\":{");
      for (std::size_t i = 0; i < s.registers.size(); ++i) {
        json_.raw(i == 0 ? "\"" : ",\"").raw(kRegisters[i]).raw("\":").number(s.registers[i]);
      }
      json_.raw("}").end_line();
    });
  }

  void say_wakes(std::string_view body) {
    read_wakes(Decoder(body), [&](const Wake& w) {
      json_.raw("{\"kind\":\"wake\"").field("tid", w.tid).field("at_ns", w.at_ns);
      json_.field("stack", known_stack(w.stack)).field("woken", w.woken).field("weight", w.weight);
      json_.field("object", known_object(w.object)).end_line();
    });
  }

  std::string_view bytes_;
  Json json_;
  StartEntry start_;
  StatusEntry status_;
  ContentionEntry contention_;
  Table<ImageEntry> images_;
  Table<ModuleEntry> modules_;
  Table<StackEntry> stacks_;
  Table<ThreadEntry> threads_;
  Table<ObjectEntry> objects_;
  Table<PairEntry> pairs_;
  Table<HoldEntry> holds_;
  Table<SymbolEntry> symbols_;
  Table<CodeEntry> code_;
  std::unordered_map<std::uint64_t, std::uint64_t> same_object_;  // recorder's id to agent's id
  std::unordered_map<std::uint64_t, Places> places_;              // by image
  std::string damage_;
  std::size_t unread_ = 0;
  bool damaged_ = false;
  bool ended_ = false;
  bool sees_wakes_ = false;
};

}  // namespace

Printed print_record(std::string_view bytes, Sink& sink) { return Printing(bytes, sink).print(); }

}  // namespace threadmark
