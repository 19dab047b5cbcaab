// std::filesystem::exists, of one path for all threads or of one for each: there is no lock in the
// library, but the kernel walks the path, and counts the users of its last part.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unordered_set>

#if defined(__unix__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "contention.hpp"
#include "opaque.hpp"

namespace {

namespace fs = std::filesystem;

// A folder with one file for each thread, and one for all; of a size that hardly depends on that.
class Folder {
 public:
  explicit Folder(unsigned threads) {
    std::string pattern = (fs::temp_directory_path() / "filesystem_stat.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no folder can be made as " + pattern);
    }
    path_ = pattern;
    for (unsigned i = 0; i <= std::max(threads, 64u); ++i) std::ofstream(file(i)) << "x";
  }
  Folder(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  fs::path file(unsigned number) const { return path_ / ("file" + std::to_string(number)); }

 private:
  fs::path path_;
};

// Looks for its file and, every other time, for one that is not there.
template <class Look>
struct lookups {
  explicit lookups(unsigned threads) : folder(threads) {}
  struct contender {
    contender(lookups& all, unsigned thread) : look{all.folder, Look::own ? thread + 1 : 0} {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const bool there = ++asked % 2 != 0;
        right += look(bench::opaque(there)) == there;
      }
    }
    std::string check(std::uint64_t n) const {
      return right == n ? "" : std::to_string(n - right) + " answers are wrong";
    }
    Look look;
    std::uint64_t asked = 0, right = 0;
  };
  Folder folder;
};

template <bool one_each>
struct Exists {
  static constexpr bool own = one_each;
  Exists(const Folder& folder, unsigned number)
      : present(folder.file(number)), absent(folder.path() / ("none" + std::to_string(number))) {}
  bool operator()(bool there) const { return fs::exists(there ? present : absent); }
  fs::path present, absent;
};

// Relative to a folder that is open: one step of the path instead of all.
template <bool one_each>
struct FromFolder {
  static constexpr bool own = one_each;
  FromFolder(const Folder& folder, unsigned number)
      : present(folder.file(number).filename()),
        absent("none" + std::to_string(number)),
        descriptor(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  FromFolder(const FromFolder&) = delete;
  ~FromFolder() { ::close(descriptor); }
  bool operator()(bool there) const {
    struct stat found{};
    const std::string& name = there ? present : absent;
    return ::fstatat(descriptor, name.c_str(), &found, 0) == 0;
  }
  std::string present, absent;
  int descriptor;
};

// What directory_iterator saw once, for programs that are the only ones to change the folder.
struct Listing {
  static constexpr bool own = true;
  Listing(const Folder& folder, unsigned number)
      : present(folder.file(number).filename()), absent("none" + std::to_string(number)) {
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      names.insert(entry.path().filename().string());
    }
  }
  bool operator()(bool there) const { return names.contains(there ? present : absent); }
  std::string present, absent;
  std::unordered_set<std::string> names;
};

}  // namespace

CONTENTION_PROGRAM(.name = "filesystem_stat", .summary = "threads ask whether files exist",
                   .operation = "whether one file exists, in turns yes and no",
                   .origin = "builds, caches and servers, which ask this all the time",
                   .ways = {
                       bench::usual<lookups<Exists<false>>>(
                           "one_path", "std::filesystem::exists, one path for all"),
                       bench::usual<lookups<Exists<true>>>(
                           "own_paths", "std::filesystem::exists, a path for each thread"),
                       bench::remedy<lookups<FromFolder<false>>>(
                           "fstatat", "fstatat below a folder that is open, one name for all"),
                       bench::remedy<lookups<FromFolder<true>>>("fstatat_own",
                                                                "fstatat, a name for each thread"),
                       bench::remedy<lookups<Listing>>("listing", "a set of names, listed once"),
                   })
