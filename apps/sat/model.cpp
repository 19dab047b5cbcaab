// The definitions.
#include "model.hpp"

#include <algorithm>
#include <numeric>

namespace sat {

std::size_t Nurbs::Direction::poles() const {
  const std::size_t sum =
      std::accumulate(multiplicities.begin(), multiplicities.end(), std::size_t{0});
  return sum + 1 > degree ? sum + 1 - degree : 0;
}

bool Numbers::take(std::vector<std::int64_t> numbers, std::int64_t& twice) {
  numbers_ = std::move(numbers);
  others_.clear();
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    others_.push_back({numbers_[i], static_cast<Ref>(i)});
  }
  std::ranges::sort(others_, {}, &Other::number);
  const auto same = std::ranges::adjacent_find(others_, {}, &Other::number);
  if (same == others_.end()) return true;
  twice = same->number;
  return false;
}

Ref Numbers::find_other(std::int64_t number) const {
  const auto found = std::ranges::lower_bound(others_, number, {}, &Other::number);
  return found != others_.end() && found->number == number ? found->index : kNull;
}

void Model::keep(Problem problem) {
  if (problems.size() < kMostProblems) {
    problems.push_back(std::move(problem));
  } else {
    ++more_problems;
  }
}

Problem Model::problem(Ref record, const char* field, const std::string& what, Lines& lines) const {
  return {.line = lines.of(document.frames[record].begin),
          .record = numbers.of(record),
          .identifier = std::string(document.identifier(record).substr(0, 60)),
          .field = field,
          .what = what};
}

}  // namespace sat
