// Each thread turns times into calendar times or text. The one thing to know: the C library keeps
// one time zone for the process, behind one lock.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "contention.hpp"
#include "locales.hpp"
#include "random.hpp"

namespace {

// Central Europe, without the files of a time zone database.
constexpr const char* zone_rule = "CET-1CEST,M3.5.0,M10.5.0/3";
constexpr const char* text_format = "%Y-%m-%d %H:%M:%S";

struct Stamp {
  std::time_t at;
  std::tm local, utc;
  std::string text;  // of local
};

bool same(const std::tm& a, const std::tm& b) {
  return a.tm_sec == b.tm_sec && a.tm_min == b.tm_min && a.tm_hour == b.tm_hour &&
         a.tm_mday == b.tm_mday && a.tm_mon == b.tm_mon && a.tm_year == b.tm_year &&
         a.tm_wday == b.tm_wday && a.tm_yday == b.tm_yday && a.tm_isdst == b.tm_isdst;
}

// The lines of a log, some a second: from 00:50 to about 01:15 UTC on Sunday 30 March 2025, the
// 88th day after 1 January. At 01:00 summer time begins.
std::vector<Stamp> stamps(unsigned seed) {
  constexpr std::time_t midnight = 1743292800;
  bench::Random random(seed);
  std::vector<Stamp> result;
  for (int second = 50 * 60; result.size() < 1024; second += static_cast<int>(random.below(4))) {
    const int summer = second >= 60 * 60;
    Stamp stamp{.at = midnight + second, .local = {}, .utc = {}, .text = {}};
    for (std::tm* each : {&stamp.local, &stamp.utc}) {
      each->tm_year = 125;
      each->tm_mon = 2;
      each->tm_mday = 30;
      each->tm_yday = 88;
      each->tm_hour = second / 3600;
      each->tm_min = second / 60 % 60;
      each->tm_sec = second % 60;
    }
    stamp.local.tm_hour += 1 + summer;
    stamp.local.tm_isdst = summer;
    stamp.text = "2025-03-30 00:00:00";
    const auto put = [&stamp](std::size_t at, int value) {
      stamp.text[at] = static_cast<char>('0' + value / 10);
      stamp.text[at + 1] = static_cast<char>('0' + value % 10);
    };
    put(11, stamp.local.tm_hour);
    put(14, stamp.local.tm_min);
    put(17, stamp.local.tm_sec);
    result.push_back(std::move(stamp));
  }
  return result;
}

// Method().right(stamp) converts one side of the stamp and says whether the other side comes out.
template <class Method, bool zone_is_set = true>
struct convert {
  explicit convert(unsigned) {
    if ((zone_is_set ? setenv("TZ", zone_rule, 1) : unsetenv("TZ")) != 0)
      throw std::runtime_error("the environment's TZ cannot be changed: give the process memory");
    tzset();
  }
  struct contender {
    contender(convert&, unsigned thread) : own(stamps(thread + 1)) {
      if constexpr (!zone_is_set) {  // whichever it is, localtime_r must lead back
        for (Stamp& each : own) localtime_r(&each.at, &each.local);
      }
    }
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        right += method.right(own[next]);
        next = (next + 1) % own.size();
      }
    }
    std::string check(std::uint64_t n) const {
      return right == n ? "" : "a time and its calendar time or text do not agree";
    }
    std::vector<Stamp> own;
    Method method;
    std::uint64_t right = 0;
    std::size_t next = 0;
  };
};

struct by_localtime {
  static bool right(const Stamp& stamp) {
    std::tm result{};
    return localtime_r(&stamp.at, &result) != nullptr && same(result, stamp.local);
  }
};
struct by_gmtime {
  static bool right(const Stamp& stamp) {
    std::tm result{};
    return gmtime_r(&stamp.at, &result) != nullptr && same(result, stamp.utc);
  }
};
struct by_mktime {
  static bool right(const Stamp& stamp) {
    std::tm given = stamp.local;
    return std::mktime(&given) == stamp.at;
  }
};
struct by_strftime {
  static bool right(const Stamp& stamp) {
    std::array<char, 64> line;
    const std::size_t length = std::strftime(line.data(), line.size(), text_format, &stamp.local);
    return std::string_view(line.data(), length) == stamp.text;
  }
};
struct by_put_time {
  bool right(const Stamp& stamp) {
    out.seekp(0);
    out << std::put_time(&stamp.local, text_format);
    return bench::written(out) == stamp.text;
  }
  std::ostringstream out;
};

// Days since the epoch are a date by arithmetic alone: no zone, no lock.
std::tm calendar(std::time_t at) {
  namespace chrono = std::chrono;
  const chrono::sys_seconds time{chrono::seconds(at)};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(time - day);
  std::tm result{};
  result.tm_year = int(date.year()) - 1900;
  result.tm_mon = static_cast<int>(unsigned(date.month())) - 1;
  result.tm_mday = static_cast<int>(unsigned(date.day()));
  result.tm_hour = static_cast<int>(clock.hours().count());
  result.tm_min = static_cast<int>(clock.minutes().count());
  result.tm_sec = static_cast<int>(clock.seconds().count());
  result.tm_wday = static_cast<int>(chrono::weekday(day).c_encoding());
  result.tm_yday =
      static_cast<int>((day - chrono::sys_days(date.year() / chrono::January / 1)).count());
  return result;
}

struct by_calendar {
  static bool right(const Stamp& stamp) { return same(calendar(stamp.at), stamp.utc); }
};
// Since 1973 zones change their distance from UTC at whole minutes (tzdata 2025b; not all of them
// at quarters of an hour), so that it is asked for once in a minute. A change of TZ is seen by
// then.
struct by_cached_offset {
  bool right(const Stamp& stamp) {
    if (const std::time_t minute = stamp.at / 60; minute != known) {
      std::tm there{};
      if (localtime_r(&stamp.at, &there) == nullptr) return false;
      offset = there.tm_gmtoff;
      summer = there.tm_isdst;
      known = minute;
    }
    std::tm result = calendar(stamp.at + offset);
    result.tm_isdst = summer;
    return same(result, stamp.local);
  }
  std::time_t known = -1, offset = 0;
  int summer = 0;
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "time_format",
        .summary = "threads that each turn times into calendar times or text",
        .operation = "convert one time",
        .origin = "F. Weimer, libc-alpha, 14 September 2024: a global mutex",
        .ways = {
            bench::usual<convert<by_localtime>>("localtime_r", "localtime_r"),
            bench::usual<convert<by_gmtime>>("gmtime_r", "gmtime_r"),
            bench::usual<convert<by_mktime>>("mktime", "mktime, with TZ in the environment"),
            bench::usual<convert<by_mktime, false>>("mktime_no_tz", "mktime, without TZ"),
            bench::usual<convert<by_strftime>>("strftime", "strftime of a calendar time"),
            bench::usual<convert<by_put_time>>("put_time", "put_time into one stream per thread"),
            bench::remedy<convert<by_calendar>>("calendar",
                                                "instead of gmtime_r: year_month_day, hh_mm_ss"),
            bench::remedy<convert<by_cached_offset>>(
                "cached_offset",
                "instead of localtime_r: UTC's arithmetic, the offset kept for a minute"),
        })
