// The definitions.
#include "join.hpp"

#include <algorithm>
#include <cstring>

namespace students {
namespace {

Points points_of(const Slot& slot) {
  return {.exam = slot.exam, .exercises = slot.exercises, .project = slot.project};
}

}  // namespace

Failure files_changed() {
  return Failure("The files have changed while they were read; begin again.");
}

Joiner::Joiner(const Layout& layout, const Scale& scale) : scale_(scale) {
  std::uint64_t most_entries = 0;
  for (const Partition& each : layout.partitions) {
    most_text_bytes_ = std::max(most_text_bytes_, each.text_bytes());
    most_pages_ = std::max(most_pages_, each.pages());
    most_entries = std::max(most_entries, each.index_entries());
  }
  texts_ = std::make_unique_for_overwrite<char[]>(most_text_bytes_);
  slots_ = std::make_unique_for_overwrite<Slot[]>(most_pages_ * kSlotsInPage);
  index_ = std::make_unique_for_overwrite<std::uint32_t[]>(most_entries);
  for (auto& buffer : buffers_) buffer = std::make_unique_for_overwrite<char[]>(kBufferBytes);
}

void Joiner::begin(const Partition& partition) {
  first_ = partition.first;
  index_entries_ = partition.index_entries();
  std::fill_n(index_.get(), index_entries_, 0U);
  text_bytes_ = 0;
  pages_ = 0;
  twice_.reset();
}

Slot& Joiner::slot(std::uint32_t number) {
  const std::uint32_t place = number - first_;
  if (place / kSlotsInPage >= index_entries_) throw files_changed();
  std::uint32_t& page = index_[place / kSlotsInPage];
  if (page == 0) {
    if (pages_ == most_pages_) throw files_changed();
    std::fill_n(slots_.get() + pages_ * kSlotsInPage, kSlotsInPage, Slot{});
    page = static_cast<std::uint32_t>(++pages_);
  }
  return slots_[(page - 1) * kSlotsInPage + place % kSlotsInPage];
}

void Joiner::add(const char* block) {
  BlockHeader header{};
  std::memcpy(&header, block, sizeof header);
  const char* const end = block + header.used;
  for (const char* at = block + sizeof header; at < end;) {
    Compact record;
    std::memcpy(&record, at, sizeof record);
    at += sizeof record;
    const File file = record.file();
    const char* const text = at;
    if (file == kBasic) at += record.value();
    Slot& to = slot(record.number());
    if ((to.known & bit(file)) != 0) {
      const Twice found{record.number(), file};
      if (!twice_ || found < *twice_) twice_ = found;
      continue;
    }
    to.known = static_cast<std::uint8_t>(to.known | bit(file));
    if (file == kBasic) {
      const std::uint32_t bytes = record.value();
      if (most_text_bytes_ - text_bytes_ < bytes) throw files_changed();
      std::memcpy(texts_.get() + text_bytes_, text, bytes);
      to.person = static_cast<std::uint32_t>(text_bytes_);
      to.person_bytes = static_cast<std::uint8_t>(bytes);
      text_bytes_ += bytes;
    } else if (file == kExercise) {
      to.exercises = record.value();
    } else {
      (file == kExam ? to.exam : to.project) = static_cast<std::uint16_t>(record.value());
    }
  }
}

template <typename Call>
void Joiner::for_each(Call call) const {
  for (std::uint64_t entry = 0; entry < index_entries_; ++entry) {
    if (index_[entry] == 0) continue;
    const Slot* const page = slots_.get() + (index_[entry] - 1) * kSlotsInPage;
    for (std::uint64_t i = 0; i < kSlotsInPage; ++i) {
      if (page[i].known == 0) continue;
      call(static_cast<std::uint32_t>(first_ + entry * kSlotsInPage + i), page[i]);
    }
  }
}

TextBytes Joiner::sizes() const {
  TextBytes result{};
  for_each([&](std::uint32_t number, const Slot& each) {
    if (each.known == kAllKnown) {
      result[kResult] += result_bytes(number, each.person_bytes, points_of(each));
    } else {
      result[kMissing] += incomplete_bytes(number, each.known);
    }
  });
  return result;
}

TextBytes Joiner::write(const std::function<void(Text, std::string_view)>& give) {
  TextBytes students{};
  std::array<char*, 2> at{buffers_[kResult].get(), buffers_[kMissing].get()};
  const auto flush = [&](Text text) {
    const char* const begin = buffers_[text].get();
    give(text, {begin, static_cast<std::size_t>(at[text] - begin)});
    at[text] = buffers_[text].get();
  };
  for_each([&](std::uint32_t number, const Slot& each) {
    const Text text = each.known == kAllKnown ? kResult : kMissing;
    ++students[text];
    if (text == kResult) {
      const Points points = points_of(each);
      at[text] = put_result(at[text], number, person(each), points, grade(points, scale_));
    } else {
      at[text] = put_incomplete(at[text], number, each.known);
    }
    if (at[text] > buffers_[text].get() + kBufferBytes - kMostResultBytes) flush(text);
  });
  flush(kResult);
  flush(kMissing);
  return students;
}

}  // namespace students
