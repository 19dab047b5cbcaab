// The definitions.
#include "splines.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <Standard_ConstructionError.hxx>
#include <TColStd_Array1OfInteger.hxx>
#include <TColStd_Array1OfReal.hxx>
#include <TColStd_Array2OfReal.hxx>
#include <TColgp_Array1OfPnt.hxx>
#include <TColgp_Array1OfPnt2d.hxx>
#include <TColgp_Array2OfPnt.hxx>

#include "sat/characters.hpp"

namespace sat::shapes {
namespace {

// Tokens of a text from a place on. A reader that does not find what it wants says false.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  std::string_view peek() {
    at_ = skip_blanks(at_, end_);
    return token_at(at_, end_);
  }
  void take() { at_ = token_end(at_, end_); }
  bool word(std::string_view wanted) {
    if (peek() != wanted) return false;
    take();
    return true;
  }
  bool count(std::uint32_t& value) {
    peek();
    std::int64_t number = 0;
    if (!parse_integer(at_, end_, number) || number < 0 || number > end_ - at_) return false;
    value = static_cast<std::uint32_t>(number);
    return true;
  }
  bool real(double& value) {
    peek();
    return parse_real(at_, end_, value);
  }
  bool closure(char& value) {
    const std::string_view name = peek();
    constexpr std::string_view kLetters = "ocp";
    if (name == "0" || name == "1" || name == "2") {
      value = kLetters[static_cast<std::size_t>(name[0] - '0')];
    } else if (name == "open" || name == "closed" || name == "periodic") {
      value = name[0];
    } else {
      return false;
    }
    take();
    return true;
  }
  // Two that may be there: how the poles of a side coincide, by a word or by a number from 0.
  // Knots, whose numbers come next, are two at least.
  void singularities() {
    const char* const before = at_;
    std::uint32_t u = 0;
    std::uint32_t v = 0;
    if (count(u) && count(v) && (u < 2 || v < 2)) return;
    at_ = before;
    for (int i = 0; i < 2; ++i) {
      const std::string_view name = peek();
      if (!name.empty() && !begins_number(name[0]) && name[0] != '}' && name[0] != '{') take();
    }
  }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  const char* at_;
  const char* end_;
};

bool read_knots(Tokens& in, Nurbs::Direction& direction, std::uint32_t number) {
  direction.knots.resize(number);
  direction.multiplicities.resize(number);
  for (std::uint32_t i = 0; i < number; ++i) {
    if (!in.real(direction.knots[i]) || !in.count(direction.multiplicities[i])) return false;
  }
  return number >= 2;
}

bool read_poles(Tokens& in, Nurbs& nurbs, std::size_t number) {
  const std::size_t reals = number * nurbs.coordinates();
  if (number < 2 || number > in.left() || reals > in.left()) return false;
  nurbs.poles.resize(reals);
  return std::ranges::all_of(nurbs.poles, [&](double& each) { return in.real(each); });
}

bool read_curve(Tokens& in, Nurbs& nurbs) {
  std::uint32_t knots = 0;
  return in.count(nurbs.u.degree) && in.closure(nurbs.u.closure) && in.count(knots) &&
         read_knots(in, nurbs.u, knots) && read_poles(in, nurbs, nurbs.u.poles());
}

bool read_surface(Tokens& in, Nurbs& nurbs) {
  if (!in.count(nurbs.u.degree) || !in.count(nurbs.v.degree)) return false;
  // Which directions the weights depend on.
  if (const auto next = in.peek(); next == "both" || next == "u" || next == "v") in.take();
  if (!in.closure(nurbs.u.closure) || !in.closure(nurbs.v.closure)) return false;
  in.singularities();
  std::uint32_t u_knots = 0;
  std::uint32_t v_knots = 0;
  if (!in.count(u_knots) || !in.count(v_knots) || !read_knots(in, nurbs.u, u_knots) ||
      !read_knots(in, nurbs.v, v_knots)) {
    return false;
  }
  const std::size_t columns = nurbs.u.poles();
  if (columns > in.left()) return false;
  return read_poles(in, nurbs, columns * nurbs.v.poles());
}

// Knots and multiplicities as Open CASCADE wants them: increasing, and the ends one more.
struct Knots {
  TColStd_Array1OfReal values;
  TColStd_Array1OfInteger multiplicities;
};

Knots knots_of(const Nurbs::Direction& direction, std::size_t poles, bool negated) {
  std::vector<double> values;
  std::vector<int> multiplicities;
  const std::size_t number = direction.knots.size();
  const double span = number == 0 ? 0 : direction.knots.back() - direction.knots.front();
  for (std::size_t i = 0; i < number; ++i) {
    const int times = static_cast<int>(direction.multiplicities[i]);
    if (!values.empty() && direction.knots[i] - values.back() <= 1e-13 * span) {
      multiplicities.back() += times;
      continue;
    }
    values.push_back(direction.knots[i]);
    multiplicities.push_back(times);
  }
  if (values.size() < 2) throw Standard_ConstructionError("knots do not increase");
  const int degree = static_cast<int>(direction.degree);
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    multiplicities[i] = std::min(multiplicities[i], degree);
  }
  multiplicities.front() = multiplicities.back() = degree + 1;
  int sum = 0;
  for (const int each : multiplicities) sum += each;
  if (sum != static_cast<int>(poles) + degree + 1) {
    throw Standard_ConstructionError("the number of poles does not fit the knots");
  }
  if (negated) {
    std::ranges::reverse(values);
    std::ranges::reverse(multiplicities);
    for (double& each : values) each = -each;
  }
  const int size = static_cast<int>(values.size());
  Knots knots{TColStd_Array1OfReal(1, size), TColStd_Array1OfInteger(1, size)};
  for (int i = 0; i < size; ++i) {
    knots.values(i + 1) = values[static_cast<std::size_t>(i)];
    knots.multiplicities(i + 1) = multiplicities[static_cast<std::size_t>(i)];
  }
  return knots;
}

}  // namespace

std::optional<Nurbs> nurbs_in(std::string_view text, Nurbs::Form form) {
  std::vector<std::size_t> places;
  int depth = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  for (const char* at = skip_blanks(begin, end); at != end; at = skip_blanks(at, end)) {
    const std::string_view token = token_at(at, end);
    if (token == "{") ++depth;
    if (token == "}") --depth;
    if (depth == 0 && (token == "nubs" || token == "nurbs")) {
      places.push_back(static_cast<std::size_t>(at - begin));
    }
    at += token.size();
  }
  if (form == Nurbs::Form::kSurface) std::ranges::reverse(places);
  for (const std::size_t place : places) {
    Tokens in(text.substr(place));
    Nurbs nurbs;
    nurbs.form = form;
    nurbs.rational = in.peek() == "nurbs";
    in.take();
    if (form == Nurbs::Form::kSurface ? read_surface(in, nurbs) : read_curve(in, nurbs)) {
      return nurbs;
    }
  }
  return std::nullopt;
}

Handle(Geom_BSplineCurve) curve_of(const Nurbs& nurbs, double scale, bool negated) {
  const std::size_t each = nurbs.coordinates();
  const std::size_t number = nurbs.poles.size() / each;
  const Knots knots = knots_of(nurbs.u, number, negated);
  TColgp_Array1OfPnt poles(1, static_cast<int>(number));
  TColStd_Array1OfReal weights(1, static_cast<int>(number));
  for (std::size_t i = 0; i < number; ++i) {
    const double* const at = &nurbs.poles[i * each];
    const int to = static_cast<int>(negated ? number - i : i + 1);
    poles(to) = gp_Pnt(scale * at[0], scale * at[1], scale * at[2]);
    weights(to) = nurbs.rational ? at[3] : 1;
  }
  const int degree = static_cast<int>(nurbs.u.degree);
  return nurbs.rational
             ? new Geom_BSplineCurve(poles, weights, knots.values, knots.multiplicities, degree)
             : new Geom_BSplineCurve(poles, knots.values, knots.multiplicities, degree);
}

Handle(Geom2d_BSplineCurve) pcurve_of(const Nurbs& nurbs) {
  const std::size_t each = nurbs.coordinates();
  const std::size_t number = nurbs.poles.size() / each;
  const Knots knots = knots_of(nurbs.u, number, false);
  TColgp_Array1OfPnt2d poles(1, static_cast<int>(number));
  TColStd_Array1OfReal weights(1, static_cast<int>(number));
  for (std::size_t i = 0; i < number; ++i) {
    const double* const at = &nurbs.poles[i * each];
    poles(static_cast<int>(i + 1)) = gp_Pnt2d(at[0], at[1]);
    weights(static_cast<int>(i + 1)) = nurbs.rational ? at[2] : 1;
  }
  const int degree = static_cast<int>(nurbs.u.degree);
  return nurbs.rational
             ? new Geom2d_BSplineCurve(poles, weights, knots.values, knots.multiplicities, degree)
             : new Geom2d_BSplineCurve(poles, knots.values, knots.multiplicities, degree);
}

Handle(Geom_BSplineSurface) surface_of(const Nurbs& nurbs, double scale) {
  const std::size_t each = nurbs.coordinates();
  const std::size_t columns = nurbs.u.poles();
  if (columns == 0) throw Standard_ConstructionError("no poles");
  const std::size_t rows = nurbs.poles.size() / each / columns;
  const Knots u = knots_of(nurbs.u, columns, false);
  const Knots v = knots_of(nurbs.v, rows, false);
  TColgp_Array2OfPnt poles(1, static_cast<int>(columns), 1, static_cast<int>(rows));
  TColStd_Array2OfReal weights(1, static_cast<int>(columns), 1, static_cast<int>(rows));
  for (std::size_t j = 0; j < rows; ++j) {
    for (std::size_t i = 0; i < columns; ++i) {
      const double* const at = &nurbs.poles[(j * columns + i) * each];
      const int column = static_cast<int>(i + 1);
      const int row = static_cast<int>(j + 1);
      poles(column, row) = gp_Pnt(scale * at[0], scale * at[1], scale * at[2]);
      weights(column, row) = nurbs.rational ? at[3] : 1;
    }
  }
  const int u_degree = static_cast<int>(nurbs.u.degree);
  const int v_degree = static_cast<int>(nurbs.v.degree);
  return nurbs.rational
             ? new Geom_BSplineSurface(poles, weights, u.values, v.values, u.multiplicities,
                                       v.multiplicities, u_degree, v_degree)
             : new Geom_BSplineSurface(poles, u.values, v.values, u.multiplicities,
                                       v.multiplicities, u_degree, v_degree);
}

}  // namespace sat::shapes
