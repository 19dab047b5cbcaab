// The result of sat::map: an object for each record, in one array for each class, and the table of
// the objects' places by record. Objects refer to one another by the records' indices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "document.hpp"
#include "entities.hpp"
#include "large_memory.hpp"
#include "team.hpp"

namespace sat {

// An array whose memory exists before its objects, so that each thread constructs its own part of
// them.
template <class T>
class Array {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  Array() = default;
  void reserve(std::size_t size) {
    data_ = allocate_large<T>(size);
    size_ = size;
  }
  void make(std::size_t i) { ::new (static_cast<void*>(data_.get() + i)) T(); }

  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  T* data() { return data_.get(); }
  std::size_t size() const { return size_; }
  const T* begin() const { return data_.get(); }
  const T* end() const { return data_.get() + size_; }

 private:
  LargeMemory<T> data_;
  std::size_t size_ = 0;
};

// The B-spline that a curve or surface carries, also as the solution of a construction.
struct Nurbs {
  enum class Form : std::uint8_t { kNone, kCurve2, kCurve3, kSurface };
  struct Direction {
    std::uint32_t degree = 0;
    char closure = 'o';  // of open, closed, periodic
    // Value and multiplicity. The multiplicities at both ends are those of the file: the degree,
    // while other kernels count one more.
    std::vector<double> knots;
    std::vector<std::uint32_t> multiplicities;
    std::size_t poles() const;
  };

  Form form = Form::kNone;
  bool rational = false;
  Direction u;
  Direction v;                // of surfaces
  std::vector<double> poles;  // coordinates, then the weight if rational; u runs fastest

  std::size_t coordinates() const {
    return (form == Form::kCurve2 ? 2U : 3U) + (rational ? 1U : 0U);
  }
};

// A definition `{ name ... }` of the file's table of subtypes.
struct Subtype {
  Ref record = kNull;
  std::string_view name;
  std::string_view text;         // from the name to before the closing brace
  std::unique_ptr<Nurbs> nurbs;  // only for a record's own subtype, if it is understood
};

// From the number by which the file names a record to its index.
class Numbers {
 public:
  // Records have the numbers first, first + 1, ...
  void count_from(std::int64_t first, std::size_t records) {
    first_ = first;
    records_ = records;
    others_.clear();
  }
  // Takes any numbers. Returns false if a number occurs twice, and stores it in `twice`.
  bool take(std::vector<std::int64_t> numbers, std::int64_t& twice);

  Ref find(std::int64_t number) const {
    if (others_.empty()) {
      const auto index = static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(first_);
      return index < records_ ? static_cast<Ref>(index) : kNull;
    }
    return find_other(number);
  }
  std::int64_t of(Ref index) const {
    return others_.empty() ? first_ + static_cast<std::int64_t>(index) : numbers_[index];
  }

 private:
  struct Other {
    std::int64_t number;
    Ref index;
  };
  Ref find_other(std::int64_t number) const;

  std::int64_t first_ = 0;
  std::size_t records_ = 0;
  std::vector<std::int64_t> numbers_;
  std::vector<Other> others_;  // by number
};

// A fault of a record. Its line is searched when no thread adds faults any more.
struct Fault {
  std::size_t record;
  const char* field;
  std::string what;
};

// Those of a part of the records, in their order.
struct Faults {
  std::vector<Fault> kept;
  std::uint64_t more = 0;  // that are only counted

  void add(Fault fault) {
    if (kept.size() < kMostProblems) {
      kept.push_back(std::move(fault));
    } else {
      ++more;
    }
  }
};

template <class Tuple>
struct ArraysOf;
template <class... T>
struct ArraysOf<std::tuple<T...>> {
  using type = std::tuple<Array<T>...>;
};

struct Model {
  Document document;
  Numbers numbers;
  std::vector<Kind> kinds;            // of each record
  std::vector<std::uint32_t> places;  // of each record's object in the array of its class
  ArraysOf<Types>::type objects;
  std::vector<Subtype> subtypes;
  std::vector<Problem> problems;    // with partial
  std::uint64_t more_problems = 0;  // that are only counted

  std::size_t size() const { return kinds.size(); }
  template <class T>
  Array<T>& all() {
    return std::get<Array<T>>(objects);
  }
  template <class T>
  const Array<T>& all() const {
    return std::get<Array<T>>(objects);
  }
  template <class T>
  T& get(Ref record) {
    return all<T>()[places[record]];
  }
  template <class T>
  const T& get(Ref record) const {
    return all<T>()[places[record]];
  }
  // The object if the record is of this class.
  template <class T>
  const T* find(Ref record) const {
    return record != kNull && kinds[record] == T::kKind ? &get<T>(record) : nullptr;
  }
  Entity& entity(Ref record) {
    return dispatch(kinds[record], [&]<class T>() -> Entity& { return get<T>(record); });
  }
  const Entity& entity(Ref record) const {
    return dispatch(kinds[record], [&]<class T>() -> const Entity& { return get<T>(record); });
  }
  void keep(Problem problem);
  // `lines`: the lines of the document, which the problems of one caller share.
  Problem problem(Ref record, const char* field, const std::string& what, Lines& lines) const;
};

}  // namespace sat
