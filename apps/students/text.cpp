// The definitions. The code copies pieces of a line with a fixed length that is enough for each
// piece, and then advances by the true length, so the next piece overwrites the rest. kSlack is
// room for the last rest.
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>

namespace students {
namespace {

constexpr std::size_t kSlack = 64;
constexpr std::size_t kNumberBytes = 16;
constexpr std::size_t kLabelBytes = 24;
constexpr std::size_t kPointsInGroup = 4;
constexpr std::size_t kGroupBytes = 2 * kPointsInGroup;
constexpr std::uint32_t kGroups = 6 * 6 * 6 * 6;
// Texts of about this size stay in a core's cache until they are written, and make write(2) calls
// that are large enough.
constexpr std::uint64_t kChunkBytes = 256 * 1024;

struct Label {
  std::array<char, kLabelBytes> text{};
  std::size_t length = 0;
};

// What follows the number and its tab in the basic file.
constexpr std::array<Label, kLabels> make_labels() {
  std::array<Label, kLabels> labels{};
  for (std::size_t i = 0; i < kLabels; ++i) {
    Label& label = labels[i];
    const auto add = [&label](std::string_view text) {
      for (const char each : text) label.text.at(label.length++) = each;
    };
    const std::size_t name = i / kProgrammes.size();
    add(kLastNames[name % kLastNames.size()]);
    add(" ");
    add(kFirstNames[name / kLastNames.size()]);
    add("\t");
    add(kProgrammes[i % kProgrammes.size()]);
    add("\n");
  }
  return labels;
}

// Four points, each with a tab behind it.
constexpr std::array<std::array<char, kGroupBytes>, kGroups> make_groups() {
  std::array<std::array<char, kGroupBytes>, kGroups> groups{};
  for (std::uint32_t i = 0; i < kGroups; ++i) {
    std::uint32_t rest = i;
    for (std::size_t point = kPointsInGroup; point-- > 0; rest /= kGrades) {
      groups[i][2 * point] = static_cast<char>('0' + rest % kGrades);
      groups[i][2 * point + 1] = '\t';
    }
  }
  return groups;
}

constexpr std::array<Label, kLabels> kLabelTexts = make_labels();
constexpr auto kGroupTexts = make_groups();

// The number with at least kLeastDigits digits and a tab; returns how long that is.
std::uint32_t put_number(std::array<char, kNumberBytes>& text, std::uint32_t number) {
  char* end = text.data() + kLeastDigits;
  if (number < 100'000) {
    for (char* at = end; at-- > text.data(); number /= 10) {
      *at = static_cast<char>('0' + number % 10);
    }
  } else {
    end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  }
  *end++ = '\t';
  return static_cast<std::uint32_t>(end - text.data());
}

// Of the lines of a student in each file.
std::array<std::uint64_t, kFiles> most_bytes(const Plan& plan) {
  const std::uint64_t number = 11;
  return {number + kLabelBytes, number + 2, number + 2 * plan.exercises, number + 2};
}

std::uint64_t students_in_chunk(const Plan& plan, std::uint64_t blocks) {
  return std::min(plan.students, plan.block * blocks);
}

}  // namespace

ChunkText::ChunkText(const Plan& plan, const Data& data) : plan_(plan), data_(data) {
  const std::uint64_t students = students_in_chunk(plan, blocks_in_chunk(plan));
  for (std::size_t i = 0; i < kFiles; ++i) {
    const std::uint64_t bytes = students * most_bytes(plan)[i] + kContentTypes[i].size() + kSlack;
    texts_[i] = std::make_unique_for_overwrite<char[]>(bytes);
  }
  entries_.resize(plan.block);
  order_.resize(plan.block);
}

std::uint64_t ChunkText::blocks_in_chunk(const Plan& plan) {
  const auto bytes = most_bytes(plan);
  const std::uint64_t student = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  return std::max<std::uint64_t>(1, kChunkBytes / (student * plan.block));
}

std::uint64_t ChunkText::chunks(const Plan& plan) {
  const std::uint64_t blocks = blocks_in_chunk(plan);
  return (plan.blocks() + blocks - 1) / blocks;
}

std::uint64_t ChunkText::memory_bytes(const Plan& plan) {
  const auto bytes = most_bytes(plan);
  const std::uint64_t student = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  const std::uint64_t students = students_in_chunk(plan, blocks_in_chunk(plan));
  return students * student + plan.block * (sizeof(Entry) + sizeof(std::uint32_t)) + 4096;
}

std::uint64_t ChunkText::make(std::uint64_t chunk) {
  for (std::size_t i = 0; i < kFiles; ++i) {
    ends_[i] = texts_[i].get();
    if (chunk == 0) {
      ends_[i] = std::ranges::copy(kContentTypes[i], ends_[i]).out;
      *ends_[i]++ = '\n';
    }
  }
  const std::uint64_t first = chunk * blocks_in_chunk(plan_);
  const std::uint64_t end = std::min(plan_.blocks(), first + blocks_in_chunk(plan_));
  for (std::uint64_t block = first; block < end; ++block) append_block(block);
  return std::min(plan_.students, end * plan_.block) - first * plan_.block;
}

void ChunkText::append_block(std::uint64_t block) {
  const std::uint64_t first = block * plan_.block;
  const std::uint64_t count = plan_.size_of(block);
  look_up(first, count);
  append_lines(kBasic, block, count, [](char* at, const Entry& entry, std::uint32_t) {
    const Label& label = kLabelTexts[entry.label];
    std::memcpy(at, label.text.data(), kLabelBytes);
    return at + label.length;
  });
  append_lines(kExam, block, count, [](char* at, const Entry& entry, std::uint32_t) {
    at[0] = entry.exam;
    at[1] = '\n';
    return at + 2;
  });
  append_lines(kExercise, block, count, [this, first](char* at, const Entry&, std::uint32_t i) {
    return append_exercises(at, first + i);
  });
  append_lines(kProject, block, count, [](char* at, const Entry& entry, std::uint32_t) {
    at[0] = entry.project;
    at[1] = '\n';
    return at + 2;
  });
}

void ChunkText::look_up(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Student student = data_.student(first + i);
    Entry& entry = entries_[i];
    entry.length = put_number(entry.number, student.number);
    entry.label = static_cast<std::uint16_t>(student.label);
    entry.exam = static_cast<char>('0' + student.exam);
    entry.project = static_cast<char>('0' + student.project);
  }
}

template <typename Rest>
void ChunkText::append_lines(File file, std::uint64_t block, std::uint64_t count, Rest rest) {
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(count);
  std::iota(order_.begin(), end, 0U);
  data_.shuffle(file, block, order_.begin(), count);
  char* at = ends_[file];
  for (std::uint64_t i = 0; i < count; ++i) {
    const Entry& entry = entries_[order_[i]];
    std::memcpy(at, entry.number.data(), kNumberBytes);
    at = rest(at + entry.length, entry, order_[i]);
  }
  ends_[file] = at;
}

char* ChunkText::append_exercises(char* at, std::uint64_t position) const {
  char* const end = at + 2 * plan_.exercises;
  for (std::uint64_t part = 0; at < end; ++part) {
    Digits digits = data_.exercises(position, part);
    for (unsigned i = 0; i < kExercisesInDraw && at < end; i += kPointsInGroup) {
      std::memcpy(at, kGroupTexts[digits.below(kGroups)].data(), kGroupBytes);
      at += kGroupBytes;
    }
  }
  end[-1] = '\n';  // in place of the last tab
  return end;
}

}  // namespace students
