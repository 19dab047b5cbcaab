// Scores card payments by a rule base whose rules may call one another.
//
// category: mutex
// name: rules_mutex | RuleBase
// made: rule_base_init | RuleBase | score
// holder: score
// certain: yes
// why: The recursive mutex of the rule base is held while a payment is scored.

#include <pthread.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Rule {
  double weight;
  int depends_on;  // -1: on none
};

struct alignas(128) RuleBase {
  pthread_mutex_t rules_mutex;
  std::array<Rule, 24> rules;
  std::uint64_t evaluated;
};

struct Payment {
  std::uint32_t card;
  double amount;
};

struct Clerk {
  pthread_t thread;
  RuleBase* base;
  int first;
  int step;
  int payments;
  std::uint64_t flagged;
};

void rule_base_init(RuleBase* base) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&base->rules_mutex, &kind);
  pthread_mutexattr_destroy(&kind);
  base->evaluated = 0;
  for (int i = 0; i < 24; ++i) base->rules[i] = {1.0 / (i + 2), i % 3 == 0 ? -1 : i - 1};
}

double apply(RuleBase* base, int index, const Payment& payment) {
  pthread_mutex_lock(&base->rules_mutex);
  const Rule& rule = base->rules[index];
  double value = std::log1p(payment.amount * rule.weight);
  if (rule.depends_on >= 0) value += 0.5 * apply(base, rule.depends_on, payment);
  ++base->evaluated;
  pthread_mutex_unlock(&base->rules_mutex);
  return value;
}

[[gnu::noinline]] double score(RuleBase* base, const Payment& payment) {
  pthread_mutex_lock(&base->rules_mutex);
  double sum = 0;
  for (int i = 0; i < 24; ++i) sum += apply(base, i, payment);
  pthread_mutex_unlock(&base->rules_mutex);
  return sum;
}

[[gnu::noinline]] Payment parse(int number) {
  std::uint32_t state = static_cast<std::uint32_t>(number) * 747796405U + 1;
  for (int i = 0; i < 150; ++i) state = state * 1664525U + 1013904223U;
  return {state >> 8, 1.0 + state % 5000};
}

void* work(void* argument) {
  auto* clerk = static_cast<Clerk*>(argument);
  for (int i = clerk->first; i < clerk->payments; i += clerk->step) {
    if (score(clerk->base, parse(i)) > 100.0) ++clerk->flagged;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int payments = 4 + static_cast<int>(seconds * 800'000);
#ifdef WITHOUT_CAUSE
  std::vector<RuleBase> bases(threads);
#else
  std::vector<RuleBase> bases(1);
#endif
  for (RuleBase& base : bases) rule_base_init(&base);
  std::vector<Clerk> clerks(threads);
  for (int t = 0; t < threads; ++t) {
    clerks[t] = {{}, &bases[t % bases.size()], t, threads, payments, 0};
    if (pthread_create(&clerks[t].thread, nullptr, work, &clerks[t]) != 0) return 2;
  }
  std::uint64_t flagged = 0;
  for (Clerk& clerk : clerks) {
    pthread_join(clerk.thread, nullptr);
    flagged += clerk.flagged;
  }
  std::uint64_t evaluated = 0;
  for (RuleBase& base : bases) {
    evaluated += base.evaluated;
    pthread_mutex_destroy(&base.rules_mutex);
  }
  std::printf("%llu flagged\n", static_cast<unsigned long long>(flagged));
  return evaluated == 48ULL * payments ? 0 : 1;
}
