// A folder with an LMDB database that one process at a time may have. Only this file and store.cpp
// know LMDB. A key is a letter and, if there are several, a number; the numbers are in ascending
// order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

struct MDB_env;
struct MDB_txn;

namespace students::nodes {

class Key {
 public:
  explicit Key(char letter) : size_(1) { bytes_[0] = letter; }
  Key(char letter, std::uint64_t number) : size_(9) {
    bytes_[0] = letter;
    for (std::size_t i = 0; i < 8; ++i) bytes_[8 - i] = static_cast<char>(number >> (8 * i));
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 9> bytes_{};
  std::size_t size_;
};

class Store {
 public:
  // Opens the database in the folder, which is made if it is absent. `fresh` removes its contents.
  // Throws Failure, also if another process has it.
  Store(const std::string& folder, bool fresh);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  const std::string& folder() const { return folder_; }
  // Throws because the data is not of this program.
  [[noreturn]] void refuse() const;

  // Changes, all of which take effect by commit, or none. Each throws Failure if the disk is full
  // or refuses.
  class Writing {
   public:
    explicit Writing(Store& store);
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing();
    void put(const Key& key, std::string_view value);
    void remove(const Key& key);
    void commit();

   private:
    Store& store_;
    MDB_txn* transaction_ = nullptr;
  };

  // Reads earlier commits; the texts are valid while this object lives.
  class Reading {
   public:
    explicit Reading(const Store& store);
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading();
    std::optional<std::string_view> get(const Key& key) const;
    // Calls take(number, value) for each key with this letter.
    void each(char letter, const std::function<void(std::uint64_t, std::string_view)>& take) const;

   private:
    const Store& store_;
    MDB_txn* transaction_ = nullptr;
  };

 private:
  void lock(bool fresh);
  void open();
  void close() noexcept;
  [[noreturn]] void fail(int error) const;
  void need(int error) const {
    if (error != 0) fail(error);
  }

  std::string folder_;
  int lock_ = -1;
  MDB_env* env_ = nullptr;
  unsigned table_ = 0;
};

}  // namespace students::nodes
