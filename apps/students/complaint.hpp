// The exceptions that end a command early: a complaint is one sentence for the user, with the
// remedy in it.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace students {

// Exit statuses; part of the interface.
enum Status : int { kOk = 0, kFailed = 1, kUsage = 2, kIncomplete = 3 };

// The request cannot be understood or granted; exit status 2.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The request is good, and the machine refuses it; exit status 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The person ended the command by a signal.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int number) : std::runtime_error("interrupted"), signal(number) {}
  int signal;
};

// Some students are not in all four files; exit status 3.
struct Incomplete : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The reason for which `path` could not be written, and the remedy: `other` names the alternative.
// `error` is a value of errno; 0: not known.
inline Failure write_failure(const std::string& path, int error,
                             const std::string& other = "another folder with --out") {
  const std::string why = error == 0 ? "the system does not say why" : std::strerror(error);
  std::string remedy = "choose " + other;
  if (error == ENOSPC || error == EDQUOT) remedy = "free some space or " + remedy;
  if (error == EFBIG) remedy = "raise the limit of file sizes (ulimit -f) or " + remedy;
  if (error == EACCES || error == EPERM) remedy = "give write permission or " + remedy;
  if (error == EMFILE || error == ENFILE) remedy = "raise the limit of open files (ulimit -n)";
  return Failure(path + " cannot be written (" + why + "); " + remedy + ".");
}

}  // namespace students
