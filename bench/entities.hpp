// Records of words, integers and reals like those of a CAD file, as text and as values. The values
// are made first and the text from their digits, so the measured code of a program that parses or
// formats does not check itself.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "random.hpp"

namespace bench {

// "plane-surface 4711 -3 12.5 -0.75 3.25 1 0 0.0625 reversed"
template <class Word>
struct EntityOf {
  Word kind{};
  long number = 0;
  int owner = 0;
  std::array<double, 6> reals{};
  Word sense{};

  // The digest differs, except by accident, if any part differs. It is cheap, because it is timed
  // with the parsing.
  std::uint64_t digest() const {
    std::uint64_t sum = word(kind) + 3 * word(sense);
    sum = sum * 31 + static_cast<std::uint64_t>(number);
    sum = sum * 31 + static_cast<std::uint64_t>(owner);
    for (const double real : reals) sum = sum * 31 + std::bit_cast<std::uint64_t>(real);
    return sum;
  }

 private:
  static std::uint64_t word(std::string_view letters) {
    if (letters.empty()) return 0;
    return letters.size() << 16 | std::uint64_t{static_cast<unsigned char>(letters.front())} << 8 |
           static_cast<unsigned char>(letters.back());
  }
};
using Entity = EntityOf<std::string>;
using EntityView = EntityOf<std::string_view>;  // its words lie in the text

// The records that one thread parses or formats, in turns. Reals have up to 3 digits before the
// point and `decimals` after it. Precondition: decimals <= 12, so that value and digits agree
// exactly.
class Entities {
 public:
  static constexpr std::size_t count = 64;  // its texts stay in the first cache

  Entities(unsigned seed, unsigned decimals) {
    static constexpr std::array<std::string_view, 4> kinds{"plane-surface", "coedge", "vertex",
                                                           "straight-curve"};
    Random random(seed);
    double unit = 1;
    for (unsigned i = 0; i < decimals; ++i) unit *= 10;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Entity entity;
      entity.kind = kinds[random.below(kinds.size())];
      entity.number = static_cast<long>(random.below(1'000'000));
      entity.owner = static_cast<int>(random.below(2000)) - 1000;
      entity.sense = random.below(2) != 0 ? "forward" : "reversed";
      std::string text = entity.kind + ' ' + digits(entity.number) + ' ' + digits(entity.owner);
      for (double& real : entity.reals) {
        // Both are exact, so that the quotient is the double next to the decimal number.
        const auto units = static_cast<std::int64_t>(random.unit() * unit * 1000);
        const bool negative = units != 0 && random.below(2) != 0;
        real = static_cast<double>(negative ? -units : units) / unit;
        text += (negative ? " -" : " ") + decimal(units, decimals);
      }
      text += ' ' + entity.sense;
      sum += entity.digest();
      sums_.push_back(sum);
      values_.push_back(entity);
      texts_.push_back(text);
    }
  }

  const std::string& text(std::size_t i) const { return texts_[i]; }
  const Entity& value(std::size_t i) const { return values_[i]; }
  // The digests of the first n, in turns, in all.
  std::uint64_t sum(std::uint64_t n) const {
    return n / count * sums_.back() + (n % count != 0 ? sums_[n % count - 1] : 0);
  }

 private:
  static std::string digits(std::int64_t value) {
    const std::string sign = value < 0 ? "-" : "";
    if (value < 0) value = -value;
    std::string reversed;
    do reversed += static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    return sign + std::string(reversed.rbegin(), reversed.rend());
  }
  // The decimal without zeros at the end, as in a stream and in the shortest form.
  static std::string decimal(std::int64_t units, unsigned decimals) {
    std::string text = digits(units);
    if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
    std::string fraction = text.substr(text.size() - decimals);
    text.resize(text.size() - decimals);
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
    return fraction.empty() ? text : text + '.' + fraction;
  }

  std::vector<std::string> texts_;
  std::vector<Entity> values_;
  std::vector<std::uint64_t> sums_;
};

}  // namespace bench
