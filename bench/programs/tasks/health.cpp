// Health care in a tree of villages (the Colombian simulation of Olden): people fall ill, wait for
// a bed, are assessed, are treated or sent to the hospital above, whose mutex protects the list
// they enter. One task per village and step, joined level by level: nested, not loop-like. The
// sweep over the healthy is nearly all of the work, so patients are values in arrays and their
// seeds are apart. (long because the reference is the whole simulation once more, in another
// formulation)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "numbers.hpp"

namespace {

constexpr std::int64_t kMaxVillages = 1'000'000;
constexpr std::int64_t kMaxPatients = 10'000'000;

struct Problem {
  std::int64_t levels, cities, ratio, steps, assess_time, treat_time;
  std::uint32_t seed;
  float sick, treat, refer;  // probabilities
  bool operator==(const Problem&) const = default;
};

struct Outcome {
  std::int64_t patients = 0, hospitals = 0, personnel = 0, check_ins = 0;
  std::int64_t in_village = 0, waiting = 0, assess = 0, inside = 0;
  double average_stay = 0;  // days in hospital per patient

  // Published averages have six decimals, and beyond 2^24 days, which were added up in single
  // precision, five digits.
  bool operator==(const Outcome& o) const {
    const bool rounded = average_stay * static_cast<double>(patients) > 0x1p24;
    return patients == o.patients && hospitals == o.hospitals && personnel == o.personnel &&
           check_ins == o.check_ins && in_village == o.in_village && waiting == o.waiting &&
           assess == o.assess && inside == o.inside &&
           std::abs(average_stay - o.average_stay) < (rounded ? 1e-5 * average_stay : 1e-6);
  }
  std::string text() const {
    std::string result;
    for (const std::int64_t n :
         {patients, hospitals, personnel, check_ins, in_village, waiting, assess, inside}) {
      result += std::to_string(n) + ' ';
    }
    return result + std::to_string(average_stay);
  }
};

constexpr std::uint32_t kMask = 123459876;
constexpr std::uint32_t kPrime = 2147483647;
constexpr float kScale = static_cast<float>(1.0 / kPrime);

// Park and Miller's generator as Olden has it, all arithmetic modulo 2^32. Without branches and on
// magnitudes, so that the sweep over a population becomes vector code. kPrime is its own inverse:
// value() recovers the number drawn.
constexpr std::uint32_t next_seed(std::uint32_t seed) {
  const auto sign_of = [](std::uint32_t n) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(n) >> 31);
  };
  const std::uint32_t x = seed ^ kMask;
  const std::uint32_t sign = sign_of(x);
  const std::uint32_t quotient = ((((x ^ sign) - sign) / 127773) ^ sign) - sign;
  const std::uint32_t drawn =
      (16807 * x - kPrime * quotient) ^ kMask;  // kPrime = 16807 * 127773 + 2836
  return (drawn + (sign_of(drawn) & kPrime)) * kPrime;
}
constexpr std::int32_t value(std::uint32_t seed) {
  return static_cast<std::int32_t>(seed * kPrime);
}

// The least value that is not below the probability when scaled to [0, 1]: the same answer without
// floating point.
std::int32_t threshold(float probability) {
  std::uint32_t low = 0;
  std::uint32_t high = kPrime;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (kScale * static_cast<float>(middle) < probability)
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<std::int32_t>(low);
}

struct Patient {
  std::uint32_t id, seed;
  std::int32_t days_left = 0, days = 0, visits = 0;
};

struct alignas(64) Village {
  std::int64_t free_beds = 0;
  std::vector<std::uint32_t> seeds;  // of the population; there Patient::seed is not kept
  std::vector<Patient> population, waiting, assess, inside;

  void come_home(const Patient& patient) {
    seeds.push_back(patient.seed);
    population.push_back(patient);
  }
};

// What the villages below write to, apart from what the village itself does at that time.
struct alignas(64) Inbox {
  bench::mutex mutex;
  std::vector<Patient> referred;
};

// Calls add(village, patient) for all patients in the order of their ids: a village's before those
// of the villages below it. Village v's children are v * cities + 1 to v * cities + cities, the
// last first.
template <class Add>
void populate(const Problem& p, std::int64_t village, std::int64_t level, std::uint32_t& next_id,
              Add&& add) {
  std::uint32_t seed = static_cast<std::uint32_t>(village) * (127773 + p.seed);
  for (std::int64_t i = 0; i < p.ratio << level; ++i) {
    add(static_cast<std::size_t>(village), Patient{.id = next_id++, .seed = seed});
    seed = next_seed(seed);
  }
  for (std::int64_t i = p.cities; level > 1 && i > 0; --i)
    populate(p, village * p.cities + i, level - 1, next_id, add);
}

std::size_t number_of_villages(const Problem& p) {
  std::int64_t sum = 0;
  for (std::int64_t level = p.levels, count = 1; level > 0; --level, count *= p.cities)
    sum += count;
  return static_cast<std::size_t>(sum);
}

class Country {
 public:
  explicit Country(const Problem& p)
      : problem_(p),
        sick_(threshold(p.sick)),
        treat_(threshold(p.treat)),
        refer_(threshold(p.refer)),
        at_first_(number_of_villages(p)),
        inboxes_(at_first_.size()) {
    std::uint32_t next_id = 0;
    populate(p, 0, p.levels, next_id,
             [&](std::size_t v, const Patient& patient) { at_first_[v].come_home(patient); });
    for (Village& village : at_first_)
      village.free_beds = static_cast<std::int64_t>(village.seeds.size()) / p.ratio;
  }

  void reset() {
    villages_ = at_first_;
    for (Inbox& inbox : inboxes_) inbox.referred.clear();
  }

  void day_futures(std::size_t v) {
    const auto [first, last] = children_of(v);
    std::vector<bench::handle<void (*)(Country*, std::size_t), Country*, std::size_t>> days;
    days.reserve(last - first);
    const auto day = +[](Country* country, std::size_t child) { country->day_futures(child); };
    for (std::size_t child = first; child < last; ++child)
      days.push_back(bench::async(day, this, child));
    treat_patients(v);
    for (auto& child : days) child.get();
    admit_patients(v);
  }

  void day_fork_join(std::size_t v) {
    const auto [first, last] = children_of(v);
    if (first == last) {
      treat_patients(v);
    } else {
      bench::scope days;
      for (std::size_t child = first; child < last; ++child)
        days.spawn([this, child] { day_fork_join(child); });
      treat_patients(v);
      days.wait();
    }
    admit_patients(v);
  }

  Outcome outcome() const {
    Outcome o;
    std::int64_t days = 0;
    for (const Village& village : villages_) {
      const auto count = [&](const std::vector<Patient>& patients, std::int64_t& here) {
        here += static_cast<std::int64_t>(patients.size());
        for (const Patient& patient : patients) {
          o.check_ins += patient.visits;
          days += patient.days;
        }
      };
      count(village.population, o.in_village);
      count(village.waiting, o.waiting);
      count(village.assess, o.assess);
      count(village.inside, o.inside);
      o.personnel += village.free_beds;
    }
    o.personnel += o.assess + o.inside;  // all beds, free or not
    o.hospitals = static_cast<std::int64_t>(villages_.size());
    o.patients = o.in_village + o.waiting + o.assess + o.inside;
    o.average_stay = static_cast<double>(days) / static_cast<double>(o.patients);
    return o;
  }

 private:
  std::pair<std::size_t, std::size_t> children_of(std::size_t v) const {
    const auto cities = static_cast<std::size_t>(problem_.cities);
    const std::size_t first = v * cities + 1;
    return {first, first < villages_.size() ? first + cities : first};
  }

  // Calls stays(patient) for each, in order, and keeps those for whom it is true, in order.
  template <class Stays>
  static void keep_if(std::vector<Patient>& patients, Stays&& stays) {
    auto kept = patients.begin();
    for (Patient& patient : patients) {
      if (stays(patient)) *kept++ = patient;
    }
    patients.erase(kept, patients.end());
  }

  void take_bed(Village& village, Patient patient) const {
    --village.free_beds;
    patient.days_left = static_cast<std::int32_t>(problem_.assess_time);
    patient.days += patient.days_left;
    village.assess.push_back(patient);
  }

  void enter_hospital(Village& village, Patient patient) const {
    ++patient.visits;
    if (village.free_beds > 0)
      take_bed(village, patient);
    else
      village.waiting.push_back(patient);
  }

  static bool draw_below(Patient& patient, std::int32_t limit) {
    patient.seed = next_seed(patient.seed);
    return value(patient.seed) < limit;
  }

  // The part of the day that may overlap with the villages below.
  void treat_patients(std::size_t v) {
    Village& village = villages_[v];
    keep_if(village.inside, [&](Patient& patient) {
      if (--patient.days_left > 0) return true;
      ++village.free_beds;
      village.come_home(patient);
      return false;
    });
    keep_if(village.assess, [&](Patient& patient) {
      if (--patient.days_left > 0) return true;
      if (!draw_below(patient, treat_)) {
        ++village.free_beds;
        village.come_home(patient);
      } else if (!draw_below(patient, refer_) || v == 0) {
        patient.days_left = static_cast<std::int32_t>(problem_.treat_time);
        patient.days += patient.days_left;
        village.inside.push_back(patient);
      } else {
        ++village.free_beds;
        Inbox& above = inboxes_[(v - 1) / static_cast<std::size_t>(problem_.cities)];
        const std::lock_guard guard(above.mutex);
        above.referred.push_back(patient);
      }
      return false;
    });
    keep_if(village.waiting, [&](Patient& patient) {
      if (village.free_beds > 0) {
        take_bed(village, patient);
        return false;
      }
      ++patient.days;
      return true;
    });
  }

  // The rest: nobody writes to the inbox any more. Its order depends on timing, the order of ids
  // does not.
  void admit_patients(std::size_t v) {
    Village& village = villages_[v];
    std::vector<Patient>& referred = inboxes_[v].referred;
    std::sort(referred.begin(), referred.end(),
              [](const Patient& a, const Patient& b) { return a.id < b.id; });
    for (const Patient& patient : referred) enter_hospital(village, patient);
    referred.clear();

    std::int32_t signs = 0;  // negative when somebody falls ill
    for (std::uint32_t& seed : village.seeds) {
      seed = next_seed(seed);
      signs |= value(seed) - sick_;
    }
    if (signs >= 0) return;  // most days
    std::size_t kept = 0;
    for (std::size_t i = 0; i < village.seeds.size(); ++i) {
      const std::uint32_t seed = village.seeds[i];
      if (value(seed) < sick_) {
        village.population[i].seed = seed;
        enter_hospital(village, village.population[i]);
      } else {
        village.seeds[kept] = seed;
        village.population[kept++] = village.population[i];
      }
    }
    village.seeds.resize(kept);
    village.population.resize(kept);
  }

  Problem problem_;
  std::int32_t sick_, treat_, refer_;
  std::vector<Village> at_first_, villages_;
  std::vector<Inbox> inboxes_;
};

// The same country told differently: lists whose nodes move, villages from the last to the first
// (those below have higher numbers), 64-bit and floating-point arithmetic as the description has
// it. Shares with Country what a Patient is, but no arithmetic. Serial and several times slower.
class Reference {
 public:
  static Outcome simulate(const Problem& p) {
    Reference r(p);
    for (std::int64_t step = 0; step < p.steps; ++step) {
      for (std::size_t v = r.places_.size(); v-- > 0;) r.day(v);
    }
    Outcome o{.hospitals = static_cast<std::int64_t>(r.places_.size())};
    std::int64_t days = 0;
    for (const Place& place : r.places_) {
      o.personnel += place.all_beds;
      o.in_village += std::ssize(place.home);
      o.waiting += std::ssize(place.waiting);
      o.assess += std::ssize(place.assess);
      o.inside += std::ssize(place.inside);
      for (const auto* patients : {&place.home, &place.waiting, &place.assess, &place.inside}) {
        o.patients += std::ssize(*patients);
        for (const Patient& patient : *patients) {
          o.check_ins += patient.visits;
          days += patient.days;
        }
      }
    }
    o.average_stay = static_cast<double>(days) / static_cast<double>(o.patients);
    return o;
  }

 private:
  using Patients = std::list<Patient>;
  struct Place {
    std::int64_t all_beds = 0, taken_beds = 0;
    Patients home, waiting, assess, inside, arrived;
  };

  explicit Reference(const Problem& p) : problem_(p), places_(number_of_villages(p)) {
    // Villages in the order of their patients' ids: of those that wait the last found comes next,
    // so that the last child's whole subtree precedes the child before it.
    std::vector<std::pair<std::size_t, std::int64_t>> next{{0, p.levels}};  // village, level
    std::uint32_t id = 0;
    while (!next.empty()) {
      const auto [v, level] = next.back();
      next.pop_back();
      std::int64_t inhabitants = p.ratio;
      for (std::int64_t l = 0; l < level; ++l) inhabitants *= 2;
      places_[v].all_beds = inhabitants / p.ratio;
      std::int64_t seed = static_cast<std::int64_t>(v) * (127773 + std::int64_t{p.seed});
      for (; inhabitants > 0; --inhabitants) {
        places_[v].home.push_back({.id = id++, .seed = static_cast<std::uint32_t>(seed)});
        seed = draw(seed) * kPrime;
      }
      if (level == 1) continue;
      const auto cities = static_cast<std::size_t>(p.cities);
      for (std::size_t child = 1; child <= cities; ++child)
        next.emplace_back(v * cities + child, level - 1);
    }
  }

  // The generator's next number, in 32-bit words with a sign. What it multiplies by kPrime is the
  // seed that is kept.
  static std::int64_t draw(std::int64_t seed) {
    const auto wrapped = [](std::int64_t n) { return std::int64_t{static_cast<std::int32_t>(n)}; };
    std::int64_t x = wrapped(seed ^ kMask);
    x = wrapped(16807 * (x % 127773) - 2836 * (x / 127773));
    x = wrapped(x ^ kMask);
    return x < 0 ? x + kPrime : x;
  }

  static bool happens(Patient& patient, float probability) {
    const std::int64_t x = draw(patient.seed);
    patient.seed = static_cast<std::uint32_t>(x * kPrime);
    return kScale * static_cast<float>(x) < probability;
  }

  static void for_each(Patients& patients, auto&& visit) {
    for (auto next = patients.begin(); next != patients.end();) visit(next++);
  }
  static void move(Patients& from, Patients::iterator patient, Patients& to) {
    to.splice(to.end(), from, patient);
  }

  void stay(Patients& from, Patients::iterator patient, Patients& to, std::int64_t days) const {
    patient->days_left = static_cast<std::int32_t>(days);
    patient->days += patient->days_left;
    move(from, patient, to);
  }

  void day(std::size_t v) {
    Place& here = places_[v];
    const auto leave = [&](Patients& from, Patients::iterator patient, Patients& to) {
      --here.taken_beds;
      move(from, patient, to);
    };
    const auto assess = [&](Patients& from, Patients::iterator patient) {
      ++here.taken_beds;
      stay(from, patient, here.assess, problem_.assess_time);
    };
    const auto enter = [&](Patients& from, Patients::iterator patient) {
      ++patient->visits;
      if (here.taken_beds < here.all_beds)
        assess(from, patient);
      else
        move(from, patient, here.waiting);
    };
    for_each(here.inside, [&](auto patient) {
      if (--patient->days_left <= 0) leave(here.inside, patient, here.home);
    });
    for_each(here.assess, [&](auto patient) {
      if (--patient->days_left > 0) return;
      if (!happens(*patient, problem_.treat)) {
        leave(here.assess, patient, here.home);
      } else if (happens(*patient, problem_.refer) && v != 0) {
        leave(here.assess, patient,
              places_[(v - 1) / static_cast<std::size_t>(problem_.cities)].arrived);
      } else {
        stay(here.assess, patient, here.inside, problem_.treat_time);
      }
    });
    for_each(here.waiting, [&](auto patient) {
      if (here.taken_beds < here.all_beds)
        assess(here.waiting, patient);
      else
        ++patient->days;
    });
    here.arrived.sort([](const Patient& a, const Patient& b) { return a.id < b.id; });
    for_each(here.arrived, [&](auto patient) { enter(here.arrived, patient); });
    for_each(here.home, [&](auto patient) {
      if (happens(*patient, problem_.sick)) enter(here.home, patient);
    });
  }

  Problem problem_;
  std::vector<Place> places_;
};

Problem usual(std::int64_t levels, std::int64_t cities, std::int64_t steps) {
  return {.levels = levels,
          .cities = cities,
          .ratio = 10,
          .steps = steps,
          .assess_time = 2,
          .treat_time = 12,
          .seed = 23,
          .sick = 0.002F,
          .treat = 0.1F,
          .refer = 0.15F};
}

// The published outcomes (test, small, medium, large), and that of size quick, which a test
// computes in another language.
std::optional<Outcome> known_outcome(const Problem& p) {
  if (p == usual(3, 18, 365)) return Outcome{7280, 343, 728, 5531, 7160, 80, 26, 14, 5.259341};
  if (p == usual(4, 18, 365))
    return Outcome{131200, 6175, 13120, 96718, 128997, 1406, 525, 272, 5.167470};
  if (p == usual(4, 18, 120))
    return Outcome{131200, 6175, 13120, 31829, 129144, 1275, 560, 221, 1.392965};
  if (p == usual(4, 36, 365))
    return Outcome{988000, 47989, 98800, 721934, 971855, 10249, 3901, 1995, 5.156507};
  if (p == usual(5, 24, 365))
    return Outcome{7238720, 346201, 723872, 5267413, 7121156, 73923, 28969, 14672, 5.230891};
  return {};
}

// Throws BadInput if the country is too large.
void require_moderate(const Problem& p) {
  std::int64_t villages = 0;
  std::int64_t patients = 0;
  for (std::int64_t level = p.levels, count = 1; level > 0; --level, count *= p.cities) {
    villages += count;
    patients += (count << level) * p.ratio;
    if (villages > kMaxVillages || patients > kMaxPatients) {
      throw bench::BadInput(
          "more than 1,000,000 villages or 10,000,000 patients; lower levels, cities or ratio");
    }
  }
}

constexpr std::int64_t kMaxLevels = 10, kMaxCities = 1000, kMaxRatio = 1000, kMaxSteps = 100'000,
                       kMaxDays = 1'000;

class Health final : public bench::Instance {
 public:
  Health(const Problem& problem, const std::optional<Outcome>& expected)
      : problem_(problem), expected_(expected) {
    require_moderate(problem);
  }

  void prepare() override {
    if (!expected_) expected_ = known_outcome(problem_);
    if (!expected_) expected_ = Reference::simulate(problem_);
    country_.emplace(problem_);
  }
  void clear() override { country_->reset(); }
  void run(bench::Form form) override {
    for (std::int64_t step = 0; step < problem_.steps; ++step) {
      if (form == bench::Form::futures)
        country_->day_futures(0);
      else
        country_->day_fork_join(0);
    }
  }
  bench::Check check() override {
    const Outcome outcome = country_->outcome();
    return {.ok = outcome == *expected_,
            .answer = outcome.text(),
            .reason = "expected " + expected_->text(),
            .tasks = static_cast<std::uint64_t>((outcome.hospitals - 1) * problem_.steps)};
  }

 private:
  Problem problem_;
  std::optional<Outcome> expected_;
  std::optional<Country> country_;
};

std::unique_ptr<bench::Instance> parse(std::string_view text) {
  bench::Numbers numbers(text);
  const auto probability = [&](std::string_view what) {
    return static_cast<float>(numbers.real(what, 0, 1));
  };
  Problem p{};
  p.levels = numbers.integer("the number of levels", 1, kMaxLevels);
  p.cities = numbers.integer("the number of cities", 1, kMaxCities);
  p.ratio = numbers.integer("the population per personnel", 1, kMaxRatio);
  p.steps = numbers.integer("the number of steps", 1, kMaxSteps);
  p.assess_time = numbers.integer("the days of an assessment", 1, kMaxDays);
  p.treat_time = numbers.integer("the days of convalescence", 1, kMaxDays);
  p.seed = static_cast<std::uint32_t>(numbers.integer("the seed", 0, 0xffffffff));
  p.sick = probability("the probability to fall ill");
  p.treat = probability("the probability to be treated");
  p.refer = probability("the probability to be referred");
  Outcome o;
  for (std::int64_t* count : {&o.patients, &o.hospitals, &o.personnel, &o.check_ins, &o.in_village,
                              &o.waiting, &o.assess, &o.inside}) {
    *count = numbers.integer("an expected count", 0, std::int64_t{1} << 50);
  }
  o.average_stay = numbers.real("the expected average stay", 0, 1e9);
  numbers.end();
  return std::make_unique<Health>(p, o);
}

// The harness's seed 1 is the published 23.
std::unique_ptr<bench::Instance> make(const bench::Arguments& arguments) {
  if (arguments.input()) return parse(*arguments.input());
  Problem p = usual(arguments["levels"], arguments["cities"], arguments["steps"]);
  p.ratio = arguments["ratio"];
  p.seed = static_cast<std::uint32_t>(arguments.seed() + 22);
  return std::make_unique<Health>(p, std::nullopt);
}

}  // namespace

BENCH_PROGRAM(.name = "health",
              .summary = "health care in a tree of villages, one task per village and day",
              .structure = "nested, joined level by level in each step", .granularity = "moderate",
              .synchronisation = "one mutex per hospital", .origin = "BOTS",
              // Name, meaning, min, max, smoke, quick, full.
              .parameters = {{"levels", "levels of the tree of villages", 1, kMaxLevels, 3, 4, 4},
                             {"cities", "villages below each village", 1, kMaxCities, 6, 18, 36},
                             {"ratio", "inhabitants per member of a hospital's personnel", 1,
                              kMaxRatio, 10, 10, 10},
                             {"steps", "days", 1, kMaxSteps, 60, 70, 365}},
              .input =
                  "INNCABS health: ten parameters and the nine expected results; it replaces all "
                  "parameters",
              .locks = true, .fork_join = true, .make = make)
