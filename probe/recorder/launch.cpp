// The start of the target.
#include "launch.hpp"

#include <linux/elf.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace threadmark {
namespace {

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
#error "the recorder knows x86-64 and aarch64"
#endif

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

bool is_elf_of_machine(const std::string& head) {
  Elf64_Ehdr elf;
  if (head.size() < sizeof elf) return false;
  std::memcpy(&elf, head.data(), sizeof elf);
  return std::memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
         elf.e_machine == kMachine;
}

// The program interpreter that an ELF file names; empty if it names none.
std::string interpreter_of(const std::string& path, const std::string& head) {
  Elf64_Ehdr elf;
  std::memcpy(&elf, head.data(), sizeof elf);
  const Descriptor file = open_to_read(path.c_str());
  for (unsigned i = 0; file && i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    const auto at = static_cast<off_t>(elf.e_phoff + i * sizeof segment);
    if (::pread(file.get(), &segment, sizeof segment, at) != sizeof segment) break;
    if (segment.p_type != PT_INTERP) continue;
    std::string name(std::min<std::size_t>(segment.p_filesz, 4096), 0);
    const ssize_t got =
        ::pread(file.get(), name.data(), name.size(), static_cast<off_t>(segment.p_offset));
    name.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return name.c_str();
  }
  return {};
}

std::string not_loaded(const char* because) {
  return std::string("The agent was not loaded, because ").append(because).append(kFromOutside);
}

}  // namespace

std::string why_not_preloadable(const std::string& program, const std::string& agent) {
  if (agent.empty()) return not_loaded("its library was not found beside the recorder");
  if (!is_elf_of_machine(beginning_of(agent, 4096))) {
    return not_loaded("its file is no library for this machine");
  }
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
    if (!is_elf_of_machine(head))
      return not_loaded("the program is for another machine or word size");
    struct stat about{};
    if (::stat(path.c_str(), &about) == 0 &&
        (((about.st_mode & S_ISUID) != 0 && about.st_uid != ::getuid()) ||
         ((about.st_mode & S_ISGID) != 0 && about.st_gid != ::getgid()))) {
      return not_loaded("the program runs with the rights of another user or group");
    }
    const std::string interpreter = interpreter_of(path, head);
    if (interpreter.empty()) return not_loaded("the program is statically linked");
    if (interpreter.find("ld-musl") != std::string::npos) {
      return not_loaded("the program uses musl and the agent needs glibc");
    }
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
  go_.close();  // so that a recorder that dies now leaves no child that waits for it
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

std::vector<std::string> environment_now() {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    variables.emplace_back(*each);
  }
  return variables;
}

std::vector<std::string> environment_with(const std::string& agent, const std::string& mapping) {
  std::vector<std::string> variables;
  const std::string preload = "LD_PRELOAD=" + agent;
  bool placed = false;
  for (std::string& variable : environment_now()) {
    if (variable.starts_with("LD_PRELOAD=") && !placed) {  // in its place, where it is read again
      const std::string_view others = std::string_view(variable).substr(11);
      variables.push_back(preload);
      if (!others.empty()) variables.back().append(":").append(others);
      placed = true;
    } else if (!variable.starts_with("THREADMARK_PROBE=")) {
      variables.push_back(std::move(variable));
    }
  }
  if (!placed) variables.push_back(preload);
  variables.push_back("THREADMARK_PROBE=" + mapping);
  return variables;
}

void reserve_standard_streams() {
  for (int stream = 0; stream < 3; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

}  // namespace threadmark
