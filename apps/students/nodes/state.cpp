// The definitions. The keys are a letter and, but for the words, the number of the first record of
// a batch, big-endian, so that they are in the order of the stream.
#include "state.hpp"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "../complaint.hpp"

namespace students::nodes {
namespace {

constexpr std::uint64_t kFormat = 0x31'65'64'6f'6e'6b'6d'74;  // "tmknode1"
// Address space, not memory: the file is as long as what it holds.
constexpr std::size_t kMapBytes = std::size_t{256} << 30;
constexpr char kWordsKey = 'w';
constexpr char kLogKey = 'l';
constexpr char kUsedKey = 'u';

class Key {
 public:
  explicit Key(char letter) : size_(1) { bytes_[0] = letter; }
  Key(char letter, std::uint64_t number) : size_(9) {
    bytes_[0] = letter;
    for (std::size_t i = 0; i < 8; ++i) bytes_[8 - i] = static_cast<char>(number >> (8 * i));
  }
  MDB_val value() { return {size_, bytes_.data()}; }

 private:
  std::array<char, 9> bytes_{};
  std::size_t size_;
};

std::uint64_t number_of(const MDB_val& key) {
  std::uint64_t number = 0;
  for (std::size_t i = 1; i < key.mv_size; ++i) {
    number = number << 8 | static_cast<const unsigned char*>(key.mv_data)[i];
  }
  return number;
}

std::string_view view_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

std::uint32_t count_of(std::string_view value) {
  std::uint32_t count = 0;
  std::memcpy(&count, value.data(), sizeof count);
  return count;
}

}  // namespace

// A transaction that changes something. It takes effect by commit, which also writes the words.
class State::Change {
 public:
  explicit Change(State& state) : words(state.words_), state_(state) {
    state_.need(mdb_txn_begin(state_.env_, nullptr, 0, &transaction_));
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    if (transaction_ != nullptr) mdb_txn_abort(transaction_);
  }

  void put(Key key, std::string_view value) {
    MDB_val name = key.value();
    MDB_val content{value.size(), const_cast<char*>(value.data())};
    state_.need(mdb_put(transaction_, state_.table_, &name, &content, 0));
  }
  void put_log(std::uint64_t first, const Batch& batch) {
    std::string value(sizeof batch.count, '\0');
    std::memcpy(value.data(), &batch.count, sizeof batch.count);
    put(Key(kLogKey, first), value += batch.bytes);
  }
  void remove(Key key) {
    MDB_val name = key.value();
    state_.need(mdb_del(transaction_, state_.table_, &name, nullptr));
  }
  void commit() {
    put(Key(kWordsKey), {reinterpret_cast<const char*>(&words), sizeof words});
    state_.need(mdb_txn_commit(std::exchange(transaction_, nullptr)));
    state_.words_ = words;
  }

  Words words;

 private:
  State& state_;
  MDB_txn* transaction_ = nullptr;
};

// A transaction that reads.
class State::View {
 public:
  explicit View(const State& state) : state_(state) {
    state_.need(mdb_txn_begin(state_.env_, nullptr, MDB_RDONLY, &transaction_));
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() { mdb_txn_abort(transaction_); }

  std::optional<std::string_view> get(Key key) const {
    MDB_val name = key.value();
    MDB_val content{};
    const int error = mdb_get(transaction_, state_.table_, &name, &content);
    if (error == MDB_NOTFOUND) return std::nullopt;
    state_.need(error);
    return view_of(content);
  }

  // Calls take(number, value) for each key with this letter.
  template <typename Take>
  void each(char letter, Take take) const {
    MDB_cursor* cursor = nullptr;
    state_.need(mdb_cursor_open(transaction_, state_.table_, &cursor));
    Key from(letter, 0);
    MDB_val key = from.value();
    MDB_val content{};
    int error = mdb_cursor_get(cursor, &key, &content, MDB_SET_RANGE);
    while (error == 0 && *static_cast<const char*>(key.mv_data) == letter) {
      take(number_of(key), view_of(content));
      error = mdb_cursor_get(cursor, &key, &content, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (error != MDB_NOTFOUND) state_.need(error);
  }

 private:
  const State& state_;
  MDB_txn* transaction_ = nullptr;
};

State::State(const std::string& folder, Node node, const Fingerprint& own, bool fresh)
    : folder_(folder) {
  try {
    lock(fresh);
    open();
    const View view(*this);
    if (const auto words = view.get(Key(kWordsKey))) {
      if (words->size() != sizeof words_) fail(MDB_INVALID);
      std::memcpy(&words_, words->data(), sizeof words_);
      check(node, own);
      read_log_pieces();
      return;
    }
  } catch (...) {
    if (env_ != nullptr) mdb_env_close(env_);
    if (lock_ >= 0) close(lock_);
    throw;
  }
  words_.format = kFormat;
  words_.node = static_cast<std::uint8_t>(node);
  words_.own = own;
}

State::~State() {
  mdb_env_close(env_);
  close(lock_);
}

void State::lock(bool fresh) {
  if (mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) fail(errno);
  const std::string path = folder_ + "/lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(errno);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail(errno);
    throw Failure("Another process works on the state in " + folder_ +
                  "; wait until it has ended, or choose another --state.");
  }
  if (fresh && unlink((folder_ + "/data.mdb").c_str()) != 0 && errno != ENOENT) fail(errno);
}

void State::open() {
  need(mdb_env_create(&env_));
  need(mdb_env_set_mapsize(env_, kMapBytes));
  // One process at a time is here by our own lock, which a killed one does not keep.
  need(mdb_env_open(env_, folder_.c_str(), MDB_NOSYNC | MDB_NOLOCK, 0666));
  MDB_txn* transaction = nullptr;
  need(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &transaction));
  const int error = mdb_dbi_open(transaction, nullptr, 0, &table_);
  mdb_txn_abort(transaction);
  need(error);
}

void State::check(Node node, const Fingerprint& own) const {
  if (words_.format != kFormat || words_.node >= kNodes) fail(MDB_INVALID);
  const std::string remedy = "; choose another --state, or begin anew with --fresh.";
  if (words_.node != node) {
    throw Failure("The state in " + folder_ + " is of the node " +
                  name_of(static_cast<Node>(words_.node)) + remedy);
  }
  if (words_.own != own) {
    throw Failure("The state in " + folder_ + " was begun with another " +
                  std::string(kFileNames[node]) + remedy);
  }
}

void State::read_log_pieces() {
  View(*this).each(kLogKey, [this](std::uint64_t first, std::string_view value) {
    log_.push_back({first, first + count_of(value) - 1});
  });
}

void State::fail(int error) const {
  std::string remedy = "choose another folder with --state";
  if (error == EIO) {  // LMDB also says so when it could write a part only
    struct statvfs facts{};
    if (statvfs(folder_.c_str(), &facts) == 0 && facts.f_bavail * facts.f_frsize < 1 << 20) {
      error = ENOSPC;
    }
  }
  if (error == ENOSPC || error == EDQUOT) {
    remedy = "free some space and start again, which goes on from the state";
  }
  if (error == EFBIG) remedy = "raise the limit of file sizes (ulimit -f)";
  if (error == ENOMEM) remedy = "raise the limit of address space (ulimit -v)";
  if (error == EACCES || error == EPERM) remedy = "give write permission or " + remedy;
  if (error == MDB_INVALID || error == MDB_VERSION_MISMATCH || error == MDB_CORRUPTED) {
    remedy = "choose another folder with --state, or begin anew with --fresh";
  }
  throw Failure("The state in " + folder_ + " cannot be used (" + mdb_strerror(error) + "); " +
                remedy + ".");
}

void State::begin(std::uint64_t length, std::uint32_t exercises) {
  Change change(*this);
  std::random_device device;
  for (std::uint8_t& each : change.words.run) each = static_cast<std::uint8_t>(device());
  change.words.passed = length;
  change.words.exercises = exercises;
  change.commit();
}

void State::adopt(const Run& run) {
  Change change(*this);
  change.words.run = run;
  change.commit();
}

void State::append(const Batch& batch, std::span<const std::uint32_t> used) {
  const std::uint64_t first = words_.received + 1;
  Change change(*this);
  change.put_log(first, batch);
  if (!used.empty()) {
    change.put(Key(kUsedKey, first),
               {reinterpret_cast<const char*>(used.data()), used.size_bytes()});
  }
  change.words.received += batch.count;
  change.words.passed = change.words.received;
  change.commit();
  log_.push_back({first, words_.received});
}

void State::end(std::uint32_t exercises, const std::vector<Batch>& rest) {
  Change change(*this);
  std::deque<Piece> log = log_;
  for (const Batch& batch : rest) {
    const std::uint64_t first = change.words.passed + 1;
    change.put_log(first, batch);
    change.words.passed += batch.count;
    log.push_back({first, change.words.passed});
  }
  change.words.total = change.words.received;
  change.words.exercises = exercises;
  change.words.ended = 1;
  change.commit();
  log_ = std::move(log);
}

void State::acknowledge(std::uint64_t number) {
  if (number <= words_.acknowledged) return;
  Change change(*this);
  std::size_t gone = 0;
  while (gone < log_.size() && log_[gone].last <= number) {
    change.remove(Key(kLogKey, log_[gone++].first));
  }
  change.words.acknowledged = number;
  change.commit();
  log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(gone));
}

void State::finish() {
  Change change(*this);
  change.words.finished = 1;
  change.commit();
}

void State::release() {
  Change change(*this);
  change.words.released = 1;
  change.commit();
}

std::optional<Batch> State::batch(std::uint64_t first) const {
  const View view(*this);
  const auto value = view.get(Key(kLogKey, first));
  if (!value) return std::nullopt;
  Batch batch;
  batch.count = count_of(*value);
  batch.bytes = value->substr(sizeof batch.count);
  return batch;
}

void State::read_used(const std::function<void(std::span<const std::uint32_t>)>& take) const {
  std::vector<std::uint32_t> used;
  View(*this).each(kUsedKey, [&](std::uint64_t, std::string_view value) {
    used.resize(value.size() / sizeof(std::uint32_t));
    std::memcpy(used.data(), value.data(), used.size() * sizeof(std::uint32_t));
    take(used);
  });
}

void State::read_log(const std::function<void(std::string_view)>& take,
                     const std::function<void()>& use) const {
  const View view(*this);
  view.each(kLogKey, [&](std::uint64_t, std::string_view value) {
    take(value.substr(sizeof(std::uint32_t)));
  });
  use();
}

}  // namespace students::nodes
