// The order of the students, their data and the texts of chunks, on which all writers rely.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "students/data.hpp"
#include "students/permutation.hpp"
#include "students/plan.hpp"
#include "students/random.hpp"
#include "students/text.hpp"

namespace {

using students::Data;
using students::Permutation;
using students::Plan;

Plan plan_of(std::uint64_t count, std::uint64_t block, std::uint64_t seed = 1) {
  Plan plan;
  plan.students = count;
  plan.block = std::min(block, count);
  plan.seed = seed;
  return plan;
}

// Pearson's statistic of counts that should be equal.
double chi_square(const std::vector<std::uint64_t>& counts) {
  const double sum = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0ULL));
  const double expected = sum / static_cast<double>(counts.size());
  double result = 0;
  for (const std::uint64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    result += difference * difference / expected;
  }
  return result;
}

// Chance exceeds this bound less than once in a hundred thousand times.
double bound_of(std::size_t counts) {
  const double degrees = static_cast<double>(counts - 1);
  return degrees + 4.3 * std::sqrt(2 * degrees) + 13;
}

TEST(Permutation, has_each_number_once_for_every_count_up_to_300) {
  for (std::uint64_t count = 1; count <= 300; ++count) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Permutation permutation(count, seed);
      std::vector<int> seen(count);
      for (std::uint64_t i = 0; i < count; ++i) ++seen.at(permutation(i));
      EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(count)) << count;
    }
  }
}

TEST(Permutation, has_each_number_once_around_powers_of_two_and_for_a_million) {
  for (const std::uint64_t count : {65535U, 65536U, 65537U, 99999U, 100000U, 1000000U}) {
    const Permutation permutation(count, 3);
    std::vector<bool> seen(count);
    for (std::uint64_t i = 0; i < count; ++i) seen.at(permutation(i)) = true;
    EXPECT_EQ(std::ranges::count(seen, true), static_cast<std::ptrdiff_t>(count));
  }
}

TEST(Permutation, brings_each_number_to_each_position_equally_often) {
  for (const std::uint64_t count : {2U, 3U, 5U, 10U, 17U, 100U}) {
    std::vector<std::uint64_t> counts(count * count);
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      const Permutation permutation(count, seed);
      for (std::uint64_t i = 0; i < count; ++i) ++counts[i * count + permutation(i)];
    }
    EXPECT_LT(chi_square(counts), bound_of(counts.size())) << count;
  }
}

TEST(Permutation, keeps_no_neighbours_together) {
  // In a random order about two pairs of neighbours are a given step apart.
  const std::uint64_t count = 50'000;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Permutation permutation(count, seed);
    std::map<std::int64_t, int> steps;
    for (std::uint64_t i = 1; i < count; ++i) {
      ++steps[static_cast<std::int64_t>(permutation(i)) -
              static_cast<std::int64_t>(permutation(i - 1))];
    }
    for (const auto& [step, times] : steps) EXPECT_LE(times, 14) << step;
  }
}

TEST(Permutation, of_another_seed_is_another_order) {
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Permutation permutation(50, seed);
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < 50; ++i) order.push_back(permutation(i));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 100U);
}

TEST(Digits, are_equally_frequent_at_each_of_the_sixteen_places_of_a_draw) {
  const students::Stream stream(5, 0);
  std::vector<std::vector<std::uint64_t>> counts(16, std::vector<std::uint64_t>(6));
  for (std::uint64_t n = 0; n < 100'000; ++n) {
    students::Digits digits(stream.draw(n));
    for (auto& place : counts) ++place.at(digits.below(6));
  }
  for (const auto& place : counts) EXPECT_LT(chi_square(place), bound_of(6));
}

TEST(Digits, are_the_same_one_by_one_as_four_at_a_time) {
  const students::Stream stream(6, 0);
  for (std::uint64_t n = 0; n < 1000; ++n) {
    students::Digits single(stream.draw(n));
    students::Digits fours(stream.draw(n));
    for (int i = 0; i < 4; ++i) {
      std::uint32_t four = 0;
      for (int j = 0; j < 4; ++j) four = four * 6 + single.below(6);
      EXPECT_EQ(four, fours.below(6 * 6 * 6 * 6));
    }
  }
}

TEST(Data, brings_each_student_of_a_block_to_each_place_equally_often) {
  const std::uint64_t block = 8;
  for (std::size_t file = 0; file < students::kFiles; ++file) {
    std::vector<std::uint64_t> counts(block * block);
    const Data data(plan_of(80'000, block));
    for (std::uint64_t number = 0; number < 10'000; ++number) {
      std::vector<std::uint64_t> order(block);
      std::iota(order.begin(), order.end(), 0U);
      data.shuffle(static_cast<students::File>(file), number, order.begin(), block);
      for (std::uint64_t i = 0; i < block; ++i) ++counts[i * block + order[i]];
    }
    EXPECT_LT(chi_square(counts), bound_of(counts.size())) << file;
  }
}

TEST(Data, orders_the_four_files_of_a_block_differently) {
  const Data data(plan_of(100, 100));
  std::set<std::vector<int>> orders;
  for (std::size_t file = 0; file < students::kFiles; ++file) {
    std::vector<int> order(100);
    std::iota(order.begin(), order.end(), 0);
    data.shuffle(static_cast<students::File>(file), 0, order.begin(), 100);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), students::kFiles);
}

TEST(Data, has_every_name_and_programme_and_all_points) {
  const Data data(plan_of(20'000, 100));
  std::vector<std::uint64_t> labels(students::kLabels);
  std::vector<std::uint64_t> exam(6);
  std::vector<std::uint64_t> project(6);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const students::Student student = data.student(i);
    ++labels.at(student.label);
    ++exam.at(student.exam);
    ++project.at(student.project);
  }
  EXPECT_LT(chi_square(labels), bound_of(labels.size()));
  EXPECT_LT(chi_square(exam), bound_of(6));
  EXPECT_LT(chi_square(project), bound_of(6));
}

TEST(ChunkText, fits_into_the_memory_that_it_states_for_the_longest_lines) {
  // The highest numbers have ten digits. AddressSanitizer watches the ends of the texts.
  Plan plan = plan_of(students::kMostStudents, 1000);
  for (const std::uint64_t exercises : {1U, 4U, 5U, 16U, 17U, 1000U}) {
    plan.exercises = exercises;
    const Data data(plan);
    students::ChunkText text(plan, data);
    const std::uint64_t chunks = students::ChunkText::chunks(plan);
    for (const std::uint64_t chunk : {std::uint64_t{0}, chunks / 2, chunks - 1}) {
      const std::uint64_t count = text.make(chunk);
      const auto lines = text.text(students::kExercise);
      EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(lines, '\n')),
                count + (chunk == 0 ? 1 : 0));
      EXPECT_LE(lines.size(), students::ChunkText::memory_bytes(plan));
    }
  }
}

}  // namespace
