// The definitions. All numbers are little-endian, like every machine that this code runs on.
#include "message.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../plan.hpp"

namespace students::nodes {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename Number>
void append(std::string& bytes, Number number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof number);
}

template <typename Number>
Number take(std::string_view& bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

bool body_is_right(const Message& message) {
  const std::string_view body = message.body;
  switch (message.kind) {
    case Kind::kHello:
      return body.size() == Run{}.size();
    case Kind::kBatch:
      return message.count > 0 && message.count <= kMostInMessage && message.number > 0 &&
             are_records(body, message.count);
    case Kind::kRefused:
      return true;
    case Kind::kWelcome:
    case Kind::kAck:
    case Kind::kEnd:
    case Kind::kEnded:
    case Kind::kResync:
    case Kind::kBye:
      break;
  }
  return body.empty();
}

}  // namespace

std::string encode(const Message& message) {
  std::string bytes;
  bytes.reserve(kHeadBytes + message.body.size());
  append(bytes, static_cast<std::uint8_t>(message.kind));
  append(bytes, message.version);
  append(bytes, static_cast<std::uint8_t>(message.node));
  append(bytes, static_cast<std::uint8_t>(message.ended));
  append(bytes, message.count);
  append(bytes, message.epoch);
  append(bytes, message.number);
  bytes += message.body;
  return bytes;
}

std::optional<Message> decode(std::string_view text) {
  if (text.size() < kHeadBytes || text.size() > kMostMessageBytes) return std::nullopt;
  Message message;
  const auto kind = take<std::uint8_t>(text);
  message.kind = static_cast<Kind>(kind);
  message.version = take<std::uint8_t>(text);
  const auto node = take<std::uint8_t>(text);
  const auto ended = take<std::uint8_t>(text);
  message.count = take<std::uint32_t>(text);
  message.epoch = take<std::uint64_t>(text);
  message.number = take<std::uint64_t>(text);
  message.body = text;
  if (kind < static_cast<std::uint8_t>(Kind::kHello) ||
      kind > static_cast<std::uint8_t>(Kind::kBye)) {
    return std::nullopt;
  }
  if (message.version != kVersion) return message;
  if (node >= kNodes || ended > 1) return std::nullopt;
  message.node = static_cast<Node>(node);
  message.ended = ended == 1;
  return body_is_right(message) ? std::optional(message) : std::nullopt;
}

Run run_of(std::string_view body) {
  Run run{};
  std::memcpy(run.data(), body.data(), std::min(run.size(), body.size()));
  return run;
}

void append_record(std::string& bytes, const Record& record) {
  append(bytes, record.number);
  append(bytes, record.points.exercises);
  append(bytes, static_cast<std::uint16_t>(record.points.exam));
  append(bytes, static_cast<std::uint16_t>(record.points.project));
  append(bytes, static_cast<std::uint8_t>(record.known));
  append(bytes, static_cast<std::uint8_t>(record.person.size()));
  bytes += record.person;
}

bool take_record(std::string_view& bytes, Record& record) {
  if (bytes.size() < kRecordBytes) return false;
  record.number = take<std::uint32_t>(bytes);
  record.points.exercises = take<std::uint32_t>(bytes);
  record.points.exam = take<std::uint16_t>(bytes);
  record.points.project = take<std::uint16_t>(bytes);
  record.known = take<std::uint8_t>(bytes);
  const std::size_t person_bytes = take<std::uint8_t>(bytes);
  if (bytes.size() < person_bytes) return false;
  record.person.assign(bytes.substr(0, person_bytes));
  bytes.remove_prefix(person_bytes);
  return record.number > 0 && record.number <= kMostStudents && record.known > 0 &&
         record.known <= kAllKnown && record.points.exam <= kMostPoints &&
         record.points.project <= kMostPoints &&
         record.points.exercises <= kMostPoints * kMostExercises;
}

bool are_records(std::string_view bytes, std::uint32_t count) {
  Record record;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!take_record(bytes, record)) return false;
  }
  return bytes.empty();
}

}  // namespace students::nodes
