// The file of a node, in memory, for the join with each incoming record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../record.hpp"
#include "names.hpp"
#include "state.hpp"

namespace students::nodes {

class Own {
 public:
  // Reads and checks the whole file. Points above `maximum` are counted. Throws Failure.
  Own(const std::string& folder, Node node, std::uint32_t maximum);

  std::uint32_t size() const { return static_cast<std::uint32_t>(numbers_.size()); }
  std::uint32_t exercises() const { return exercises_; }  // of each student; 0 in other files
  std::uint64_t above() const { return above_; }          // lines with points above the maximum
  // The fingerprint of the data that the stream takes from the file.
  const Fingerprint& fingerprint() const { return fingerprint_; }

  // The place of this student in the file.
  std::optional<std::uint32_t> find(std::uint32_t number) const;
  // The student at this place, as a record of this file.
  void read(std::uint32_t place, Record& record) const;

  bool is_used(std::uint32_t place) const { return used_[place]; }
  void use(std::span<const std::uint32_t> places);
  // The numbers of those that are not used, in the order of lines, without points.
  std::vector<Batch> unused() const;
  // Some records from this place on; there must be at least one.
  Batch batch(std::uint32_t place) const;

 private:
  void add(std::uint32_t number, std::uint32_t points, std::string_view person);
  bool make_index();
  std::size_t slot_of(std::uint32_t number) const;

  Node node_;
  std::uint32_t exercises_ = 0;
  std::uint64_t above_ = 0;
  Fingerprint fingerprint_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> points_;      // not of the basic file
  std::string persons_;                    // of the basic file, one after the other
  std::vector<std::uint64_t> person_end_;  // likewise
  std::vector<std::uint32_t> index_;       // place + 1 by a hash of the number; 0 is free
  std::uint32_t twice_ = 0;                // a number that occurs more than once
  std::vector<bool> used_;
};

}  // namespace students::nodes
