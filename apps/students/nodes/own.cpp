// The definitions. The index is a hash table with open addressing, at most half full.
#include "own.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../input.hpp"
#include "message.hpp"

namespace students::nodes {
namespace {

// FNV-1a, 64 bits: it is to tell files apart that were not made to deceive.
constexpr std::uint64_t kBasis = 0xcbf29ce484222325;

void mix(Fingerprint& fingerprint, std::string_view bytes) {
  for (const char each : bytes) {
    fingerprint.hash = (fingerprint.hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  }
  fingerprint.bytes += bytes.size();
}

}  // namespace

Own::Own(const std::string& folder, Node node, std::uint32_t maximum) : node_(node) {
  const Input input(folder, node, maximum);
  exercises_ = input.rules().exercises;
  fingerprint_.hash = kBasis + exercises_;
  LineReader reader(input);
  std::string bytes;
  for (Line line; reader.next(line);) {
    add(line.number, line.points, line.person);
    above_ += line.above ? 1 : 0;
    bytes.clear();
    append_record(bytes, record_of(input.rules(), line));
    mix(fingerprint_, bytes);
  }
  if (!make_index()) throw input.twice(twice_);
  used_.resize(numbers_.size());
}

void Own::add(std::uint32_t number, std::uint32_t points, std::string_view person) {
  numbers_.push_back(number);
  if (node_ == kBasic) {
    persons_ += person;
    person_end_.push_back(persons_.size());
  } else {
    points_.push_back(points);
  }
}

bool Own::make_index() {
  index_.assign(std::bit_ceil(2 * numbers_.size() + 1), 0);
  for (std::size_t place = 0; place < numbers_.size(); ++place) {
    std::uint32_t& slot = index_[slot_of(numbers_[place])];
    if (slot != 0) {
      twice_ = numbers_[place];
      return false;
    }
    slot = static_cast<std::uint32_t>(place + 1);
  }
  return true;
}

// Where the number is, or where it would be.
std::size_t Own::slot_of(std::uint32_t number) const {
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = (number * 0x9e3779b97f4a7c15U >> 32) & mask;
  while (index_[slot] != 0 && numbers_[index_[slot] - 1] != number) slot = (slot + 1) & mask;
  return slot;
}

std::optional<std::uint32_t> Own::find(std::uint32_t number) const {
  const std::uint32_t found = index_[slot_of(number)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

void Own::read(std::uint32_t place, Record& record) const {
  record.number = numbers_[place];
  record.known = bit(node_);
  record.points = {};
  record.person.clear();
  if (node_ == kBasic) {
    const std::uint64_t begin = place == 0 ? 0 : person_end_[place - 1];
    record.person.assign(persons_, begin, person_end_[place] - begin);
  }
  if (node_ == kExam) record.points.exam = points_[place];
  if (node_ == kExercise) record.points.exercises = points_[place];
  if (node_ == kProject) record.points.project = points_[place];
}

void Own::use(std::span<const std::uint32_t> places) {
  for (const std::uint32_t place : places) used_.at(place) = true;
}

std::vector<Batch> Own::unused() const {
  std::vector<Batch> batches;
  Record record;
  record.known = bit(node_);
  for (std::size_t place = 0; place < numbers_.size(); ++place) {
    if (used_[place]) continue;
    if (batches.empty() || batches.back().count == kMostInMessage) batches.emplace_back();
    record.number = numbers_[place];
    append_record(batches.back().bytes, record);
    ++batches.back().count;
  }
  return batches;
}

Batch Own::batch(std::uint32_t place) const {
  Batch batch;
  batch.count = std::min(size() - place, kMostInMessage);
  Record record;
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    read(place + i, record);
    append_record(batch.bytes, record);
  }
  return batch;
}

}  // namespace students::nodes
