// The messages between neighbours; protocol.md gives their order. A message is a head of fixed size
// and a body. All data from the network is checked here, so no other code needs to check it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../record.hpp"
#include "names.hpp"

namespace students::nodes {

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint32_t kMostInMessage = 1024;  // records
inline constexpr std::size_t kHeadBytes = 24;
inline constexpr std::size_t kRecordBytes = 14;  // without the person
inline constexpr std::size_t kMostMessageBytes =
    kHeadBytes + kMostInMessage * (kRecordBytes + kMostPersonBytes);

enum class Kind : std::uint8_t {
  kHello = 1,
  kWelcome,
  kBatch,
  kAck,
  kEnd,
  kEnded,
  kResync,
  kRefused,
  kBye,
};

struct Message {
  Kind kind = Kind::kHello;
  std::uint8_t version = kVersion;
  Node node = kBasic;       // HELLO: the sender
  bool ended = false;       // WELCOME: the receiver has the whole stream
  std::uint32_t count = 0;  // BATCH: records; WELCOME, ACK: credit; END: exercises of each student
  std::uint64_t epoch = 0;
  // HELLO: acknowledged; WELCOME, ACK: received; BATCH: of the first record; END: length of the
  // stream
  std::uint64_t number = 0;
  std::string_view body{};  // HELLO: the run; BATCH: the records; REFUSED: a sentence
};

std::string encode(const Message& message);
// Nothing if the text is no message of this program; a message of another version has only its
// version, epoch and kind. The body is within `text`.
std::optional<Message> decode(std::string_view text);

Run run_of(std::string_view body);
inline std::string_view text_of(const Run& run) {
  return {reinterpret_cast<const char*>(run.data()), run.size()};
}

// Records as bytes, in a message and in the log: number, exercises, exam, project, known, length of
// the person, person.
void append_record(std::string& bytes, const Record& record);
// Takes the record at the beginning of `bytes`; false if there is none, or an invalid one.
bool take_record(std::string_view& bytes, Record& record);
// Whether these bytes are `count` records and nothing else.
bool are_records(std::string_view bytes, std::uint32_t count);

}  // namespace students::nodes
