// The start of the target.
#include "launch.hpp"

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "probe/program_file.hpp"

namespace threadmark {
namespace {

constexpr std::string_view kFromOutside = "; waits were seen from outside only.";

// The file that execvp would start; empty if there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/bin:/usr/bin";
  for (;;) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::string path(end == 0 ? "." : rest.substr(0, end));
    path += '/' + name;
    struct stat about{};
    if (::access(path.c_str(), X_OK) == 0 && ::stat(path.c_str(), &about) == 0 &&
        S_ISREG(about.st_mode)) {
      return path;
    }
    if (end == rest.size()) return {};
    rest.remove_prefix(end + 1);
  }
}

std::string beginning_of(const std::string& path, std::size_t bytes) {
  std::string text(bytes, 0);
  const Descriptor file = open_to_read(path.c_str());
  const ssize_t got = file ? ::pread(file.get(), text.data(), bytes, 0) : -1;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

ProgramFile read_file(const std::string& path) {
  const Descriptor file = open_to_read(path.c_str());
  return read_program([&](std::uint64_t offset, void* to, std::size_t size) {
    return file &&
           ::pread(file.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  });
}

std::string not_loaded(const char* because) {
  return std::string("The agent was not loaded, because ").append(because).append(kFromOutside);
}

}  // namespace

std::string why_not_preloadable(const std::string& program, const std::string& agent,
                                std::string& runtimes) {
  if (agent.empty()) return not_loaded("its library was not found beside the recorder");
  if (!read_file(agent).of_machine) return not_loaded("its file is no library for this machine");
  std::string path = find_program(program);
  for (int depth = 0; depth < 5 && !path.empty(); ++depth) {
    const std::string head = beginning_of(path, 4096);
    if (head.empty()) return not_loaded("the program's file cannot be read");
    if (head.starts_with("#!")) {  // the interpreter becomes the program
      const std::size_t begin = head.find_first_not_of(" \t", 2);
      if (begin == std::string::npos) break;
      path = head.substr(begin, head.find_first_of(" \t\r\n", begin) - begin);
      continue;
    }
    if (!head.starts_with(ELFMAG)) return {};  // a script without its first line: the shell's
    const ProgramFile file = read_file(path);
    if (!file.of_machine) return not_loaded("the program is for another machine or word size");
    struct stat about{};
    if (::stat(path.c_str(), &about) == 0 &&
        (((about.st_mode & S_ISUID) != 0 && about.st_uid != ::getuid()) ||
         ((about.st_mode & S_ISGID) != 0 && about.st_gid != ::getgid()))) {
      return not_loaded("the program runs with the rights of another user or group");
    }
    if (file.loader == ProgramFile::none) return not_loaded("the program is statically linked");
    if (file.loader == ProgramFile::of_musl) {
      return not_loaded("the program uses musl and the agent needs glibc");
    }
    if (!file.runtimes_fit) {
      return not_loaded(
          "the program needs a sanitizer's runtime by a name that cannot be preloaded");
    }
    runtimes = file.runtimes;
    break;
  }
  return {};
}

void Signals::take() {
  ::sigaction(SIGPIPE, nullptr, &pipe_);
  ::sigaction(SIGXFSZ, nullptr, &size_);
  ::sigaction(SIGCHLD, nullptr, &child_);
  struct sigaction now{};
  now.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &now, nullptr);
  ::sigaction(SIGXFSZ, &now, nullptr);
  now.sa_handler = SIG_DFL;  // an ignored SIGCHLD would lose the target's exit status
  ::sigaction(SIGCHLD, &now, nullptr);

  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction is{};
    ::sigaction(signal, nullptr, &is);
    if (is.sa_handler != SIG_IGN) sigaddset(&taken, signal);
  }
  ::sigprocmask(SIG_BLOCK, &taken, &before_);
  descriptor_ = Descriptor(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Signals::restore() const {
  ::sigaction(SIGPIPE, &pipe_, nullptr);
  ::sigaction(SIGXFSZ, &size_, nullptr);
  ::sigaction(SIGCHLD, &child_, nullptr);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool Launch::prepare(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment, const Signals& signals) {
  int go[2];
  int failure[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return false;
  Descriptor go_read(go[0]);
  go_ = Descriptor(go[1]);
  if (::pipe2(failure, O_CLOEXEC) != 0) return false;
  failure_ = Descriptor(failure[0]);
  Descriptor failure_write(failure[1]);

  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& variable : environment) {
    variables.push_back(const_cast<char*>(variable.c_str()));
  }
  variables.push_back(nullptr);

  pid_ = ::fork();
  if (pid_ != 0) return pid_ > 0;
  signals.restore();
  go_.close();  // so a recorder that dies now leaves no child that waits for it
  char begin = 0;
  while (::read(go_read.get(), &begin, 1) < 0 && errno == EINTR) {
  }
  if (begin != 1) ::_exit(125);
  ::execvpe(words[0], words.data(), variables.data());
  const int error = errno;
  while (::write(failure_write.get(), &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::_exit(127);
}

int Launch::begin() {
  const char begin = 1;
  while (::write(go_.get(), &begin, 1) < 0 && errno == EINTR) {
  }
  go_.close();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(failure_.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  failure_.close();
  return got == sizeof error ? error : 0;
}

std::vector<std::string> environment_of_target(const std::vector<std::string>& changes) {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    variables.emplace_back(*each);
  }
  for (const std::string& change : changes) {
    const std::string name = change.substr(0, change.find('=') + 1);
    std::erase_if(variables, [&](const std::string& each) { return each.starts_with(name); });
    variables.push_back(change);
  }
  return variables;
}

std::vector<std::string> environment_with(std::vector<std::string> variables,
                                          const std::string& libraries,
                                          const std::string& mapping) {
  const std::string name = "LD_PRELOAD=";
  std::string preload = name;
  for (const std::string& variable : variables) {  // the loader takes the last of several
    if (variable.starts_with(name)) preload = variable;
  }
  if (preload != name) preload += ':';
  variables.push_back(preload + libraries);
  variables.push_back("THREADMARK_PROBE=" + mapping);
  return variables;
}

void reserve_standard_streams() {
  for (int stream = 0; stream < 3; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

}  // namespace threadmark
