// The data of a plan: the student at each position, the points, and the order of each block in each
// file. All writers take the data from here, so they write the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "permutation.hpp"
#include "plan.hpp"
#include "random.hpp"

namespace students {

inline constexpr std::size_t kFiles = 4;
enum File : std::size_t { kBasic = 0, kExam = 1, kExercise = 2, kProject = 3 };

inline constexpr std::array<std::string_view, kFiles> kFileNames{
    "basic-student-info.txt", "exam-info.txt", "exercise-info.txt", "project-info.txt"};
// The first line of each file.
inline constexpr std::array<std::string_view, kFiles> kContentTypes{
    "studentdata", "examdata", "exercisedata", "exerciseworkdata"};

// Names in UTF-8. As in the original, one name has more bytes than characters, and one has a blank.
inline constexpr std::array<std::string_view, 10> kFirstNames{
    "Aino", "Eero", "Helmi", "Jussi", "Leena", "Matti", "Onni", "Päivi", "Sanna", "Veikko"};
inline constexpr std::array<std::string_view, 11> kLastNames{
    "Ali Baba", "Berg",  "Halonen", "Järvi",    "Korhonen", "Laine",
    "Mäkinen",  "Niemi", "Saari",   "Toivonen", "Virtanen"};
inline constexpr std::array<std::string_view, 5> kProgrammes{"TOL", "SO", "TT", "ENF", "TUT"};

inline constexpr std::uint32_t kLabels =
    kFirstNames.size() * kLastNames.size() * kProgrammes.size();
inline constexpr unsigned kGrades = 6;  // points are 0 to 5
inline constexpr unsigned kExercisesInDraw = 16;
inline constexpr std::size_t kLeastDigits =
    5;  // of a student number; shorter ones begin with zeros

struct Student {
  std::uint32_t number;  // 1 to the number of students
  std::uint32_t label;   // names and programme: below kLabels
  std::uint32_t exam;
  std::uint32_t project;
};

class Data {
 public:
  explicit Data(const Plan& plan)
      : numbers_(plan.students, plan.seed),
        points_(plan.seed, 2),
        orders_{Stream(plan.seed, 3), Stream(plan.seed, 4), Stream(plan.seed, 5),
                Stream(plan.seed, 6)},
        block_(plan.block),
        draws_(1 + (plan.exercises + kExercisesInDraw - 1) / kExercisesInDraw) {}

  // The student at this position, which is below the number of students.
  Student student(std::uint64_t position) const {
    Digits digits(points_.draw(position * draws_));
    Student result{};
    result.number = static_cast<std::uint32_t>(numbers_(position)) + 1;
    result.label = digits.below(kLabels);
    result.exam = digits.below(kGrades);
    result.project = digits.below(kGrades);
    return result;
  }

  // Points of exercises 16 part to 16 part + 15 of the student at this position, in this order.
  Digits exercises(std::uint64_t position, std::uint64_t part) const {
    return Digits(points_.draw(position * draws_ + 1 + part));
  }

  // Brings the data of the students of a block from the order of their positions into the order
  // that the block has in this file. `first` is a random access iterator.
  template <typename Iterator>
  void shuffle(File file, std::uint64_t block, Iterator first, std::uint64_t count) const {
    using Difference = typename std::iterator_traits<Iterator>::difference_type;
    const std::uint64_t base = block * block_;
    for (std::uint64_t last = count; last-- > 1;) {
      const std::uint64_t other = Digits(orders_[file].draw(base + last)).below(last + 1);
      std::swap(first[static_cast<Difference>(last)], first[static_cast<Difference>(other)]);
    }
  }

 private:
  Permutation numbers_;
  Stream points_;
  std::array<Stream, kFiles> orders_;
  std::uint64_t block_;
  std::uint64_t draws_;  // of a student
};

}  // namespace students
