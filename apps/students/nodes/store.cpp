// The definitions.
#include "store.hpp"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "../complaint.hpp"
#include "../interruption.hpp"

namespace students::nodes {
namespace {

// Address space, not memory: the file is as long as what it holds.
constexpr std::size_t kMapBytes = std::size_t{256} << 30;

MDB_val value_of(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

std::string_view text_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

std::uint64_t number_of(std::string_view key) {
  std::uint64_t number = 0;
  for (const char each : key.substr(1)) number = number << 8 | static_cast<unsigned char>(each);
  return number;
}

}  // namespace

Store::Store(const std::string& folder, bool fresh) : folder_(folder) {
  try {
    lock(fresh);
    open();
  } catch (...) {
    close();
    throw;
  }
}

Store::~Store() { close(); }

void Store::close() noexcept {
  if (env_ != nullptr) mdb_env_close(env_);
  if (lock_ >= 0) ::close(lock_);
}

void Store::lock(bool fresh) {
  if (mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) fail(errno);
  const std::string path = folder_ + "/lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(errno);
  // The nodes of a pipeline that was killed end a moment after it.
  constexpr int kLooks = 40;
  for (int look = 0; flock(lock_, LOCK_EX | LOCK_NB) != 0; ++look) {
    if (errno != EWOULDBLOCK) fail(errno);
    if (look < kLooks) {
      check_signals();
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      continue;
    }
    throw Failure("Another process works on the state in " + folder_ +
                  "; wait until it has ended, or choose another --state.");
  }
  if (fresh && unlink((folder_ + "/data.mdb").c_str()) != 0 && errno != ENOENT) fail(errno);
}

void Store::open() {
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

void Store::refuse() const { fail(MDB_INVALID); }

void Store::fail(int error) const {
  std::string remedy = "choose another folder with --state";
  if (error == EIO) {  // LMDB also says so when it could write a part only
    struct statvfs disk{};
    struct stat file{};
    struct rlimit limit{};
    if (statvfs(folder_.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize < 1 << 20) {
      error = ENOSPC;
    } else if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
               stat((folder_ + "/data.mdb").c_str(), &file) == 0 &&
               static_cast<rlim_t>(file.st_size) >= limit.rlim_cur) {
      error = EFBIG;
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

Store::Writing::Writing(Store& store) : store_(store) {
  store_.need(mdb_txn_begin(store_.env_, nullptr, 0, &transaction_));
}

Store::Writing::~Writing() {
  if (transaction_ != nullptr) mdb_txn_abort(transaction_);
}

void Store::Writing::put(const Key& key, std::string_view value) {
  MDB_val name = value_of(key.text());
  MDB_val content = value_of(value);
  store_.need(mdb_put(transaction_, store_.table_, &name, &content, 0));
}

void Store::Writing::remove(const Key& key) {
  MDB_val name = value_of(key.text());
  store_.need(mdb_del(transaction_, store_.table_, &name, nullptr));
}

void Store::Writing::commit() { store_.need(mdb_txn_commit(std::exchange(transaction_, nullptr))); }

Store::Reading::Reading(const Store& store) : store_(store) {
  store_.need(mdb_txn_begin(store_.env_, nullptr, MDB_RDONLY, &transaction_));
}

Store::Reading::~Reading() { mdb_txn_abort(transaction_); }

std::optional<std::string_view> Store::Reading::get(const Key& key) const {
  MDB_val name = value_of(key.text());
  MDB_val content{};
  const int error = mdb_get(transaction_, store_.table_, &name, &content);
  if (error == MDB_NOTFOUND) return std::nullopt;
  store_.need(error);
  return text_of(content);
}

void Store::Reading::each(char letter,
                          const std::function<void(std::uint64_t, std::string_view)>& take) const {
  MDB_cursor* cursor = nullptr;
  store_.need(mdb_cursor_open(transaction_, store_.table_, &cursor));
  const Key from(letter, 0);
  MDB_val key = value_of(from.text());
  MDB_val content{};
  int error = mdb_cursor_get(cursor, &key, &content, MDB_SET_RANGE);
  while (error == 0 && text_of(key).front() == letter) {
    take(number_of(text_of(key)), text_of(content));
    error = mdb_cursor_get(cursor, &key, &content, MDB_NEXT);
  }
  mdb_cursor_close(cursor);
  if (error != MDB_NOTFOUND) store_.need(error);
}

}  // namespace students::nodes
