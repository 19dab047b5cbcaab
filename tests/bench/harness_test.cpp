// The interface of an executable (ARCHITECTURE.md), seen from outside: a program that fails on
// demand runs as a process, and its options, lines and exit codes are compared with the interface.
// Its path is in the variable MISBEHAVES.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "executable.hpp"

namespace {

using nlohmann::json;

// A started process whose output is read from a pipe, line by line.
class Process {
 public:
  // `out`: the file for its standard output; null for the pipe.
  explicit Process(std::vector<std::string> options, const char* out = nullptr) {
    const char* const path = std::getenv("MISBEHAVES");
    if (path == nullptr)
      throw std::runtime_error("set MISBEHAVES to the executable, as ctest does");
    options.insert(options.begin(), path);
    int ends[2];
    errors_ = std::tmpfile();
    if (pipe(ends) != 0 || errors_ == nullptr) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out == nullptr ? ends[1] : open(out, O_WRONLY), STDOUT_FILENO);
      dup2(fileno(errors_), STDERR_FILENO);
      close(ends[0]);
      close(ends[1]);
      std::vector<char*> argv;
      for (std::string& option : options) argv.push_back(option.data());
      argv.push_back(nullptr);
      execv(path, argv.data());
      _exit(127);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
  }
  Process(const Process&) = delete;
  ~Process() {
    if (pid_ > 0) {
      kill(SIGKILL);
      wait();
    }
    std::fclose(output_);
    std::fclose(errors_);
  }

  // The next line as JSON; null at the end. Throws if it is not JSON.
  json next() {
    char* text = nullptr;
    std::size_t capacity = 0;
    const ssize_t length = getline(&text, &capacity, output_);
    const std::string line(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    std::free(text);
    return length > 0 ? json::parse(line) : json();
  }
  std::vector<json> rest() {
    std::vector<json> lines;
    for (json line = next(); !line.is_null(); line = next()) lines.push_back(line);
    return lines;
  }
  void kill(int signal) const { ::kill(pid_, signal); }
  // The exit code, or minus the signal.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // The standard error of the process; call after wait().
  std::string errors() const {
    std::rewind(errors_);
    std::string text;
    for (int c = std::fgetc(errors_); c != EOF; c = std::fgetc(errors_))
      text += static_cast<char>(c);
    return text;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
  std::FILE* errors_ = nullptr;
};

struct Refused {
  std::vector<std::string> options;
  std::string says;  // part of the sentence
};

void expect_usage_error(const Refused& refused) {
  Process process(refused.options);
  EXPECT_EQ(process.rest(), std::vector<json>()) << refused.says;
  EXPECT_EQ(process.wait(), 2) << refused.says;
  const std::string errors = process.errors();
  EXPECT_NE(errors.find(refused.says), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << "one sentence, not: " << errors;
}

TEST(Harness, describes_a_program_and_its_backend_completely) {
  Process process({"--describe"});
  const std::vector<json> lines = process.rest();
  EXPECT_EQ(process.wait(), 0);
  ASSERT_EQ(lines.size(), 1u);
  const json& said = lines[0];
  for (const char* key : {"program", "summary", "structure", "granularity", "synchronisation",
                          "origin", "backend", "backend_version", "input"}) {
    EXPECT_TRUE(said.at(key).is_string() && said.at(key) != "") << key;
  }
  EXPECT_EQ(said["program"], "misbehaves");
  EXPECT_EQ(said["contract"], 1);
  for (const char* key : {"compiler", "standard_library", "c_library", "flags"}) {
    EXPECT_TRUE(said.at("platform").at(key).is_string()) << key;
    EXPECT_NE(said["platform"][key], "unknown") << key;
  }
  ASSERT_FALSE(said.at("variants").empty());
  for (const json& variant : said["variants"]) {
    EXPECT_TRUE(variant.at("name").is_string() && variant.at("parallel").is_boolean());
    EXPECT_NE(variant["name"], "locked") << "offered although the program does not lock";
    EXPECT_NE(variant["name"], "fork_join") << "offered although the program has no such form";
  }
  ASSERT_EQ(said.at("parameters").size(), 2u);
  EXPECT_EQ(said["parameters"][0], (json{{"name", "how"},
                                         {"meaning", "what goes wrong"},
                                         {"min", 0},
                                         {"max", 9},
                                         {"sizes", {{"smoke", 0}, {"quick", 0}, {"full", 0}}}}));
}

TEST(Harness, a_run_says_what_ran_and_then_every_repeat) {
  Process process({"--run", "--threads", "3", "--size", "smoke", "--seed", "7", "--warmup", "2",
                   "--repeats", "3"});
  const std::vector<json> lines = process.rest();
  EXPECT_EQ(process.wait(), 0);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0].at("event"), "start");
  EXPECT_EQ(lines[0].at("threads"), 3);
  EXPECT_EQ(lines[0].at("size"), "smoke");
  EXPECT_EQ(lines[0].at("seed"), 7);
  EXPECT_EQ(lines[0].at("arguments"), (json{{"how", 0}, {"at", 0}}));
  EXPECT_GE(lines[0].at("cpus"), 1);
  for (std::size_t i = 0; i < 5; ++i) {
    const json& line = lines[i + 1];
    EXPECT_EQ(line.at("event"), "repeat");
    EXPECT_EQ(line.at("repeat"), i);
    EXPECT_EQ(line.at("warmup"), i < 2);
    EXPECT_EQ(line.at("answer"), "42");
    EXPECT_EQ(line.at("ok"), true);
    EXPECT_EQ(line.at("tasks"), 1);
    EXPECT_EQ(line.at("nodes"), 0);
    for (const char* key :
         {"wall_ns", "cpu_ns", "run_delay_ns", "voluntary_switches", "max_rss_bytes"}) {
      EXPECT_TRUE(line.at(key).is_number_integer() && line.at(key) >= 0) << key;
    }
    EXPECT_GT(line["max_rss_bytes"], 500'000);
    EXPECT_GT(line.at("yardstick_ns"), 1000);  // ten thousand steps, at more than 10 GHz
  }
  EXPECT_EQ(lines[6], (json{{"event", "end"}, {"status", "ok"}, {"reason", ""}}));
}

struct Ending {
  const char* name;
  const char* how;
  int exit_code;
  const char* status;
  const char* reason;  // part of it
};

class HarnessEnding : public testing::TestWithParam<Ending> {};

TEST(Harness, repeats_for_as_long_as_it_is_told_and_says_when) {
  Process process({"--run", "--arg", "how=0", "--seconds", "0.001"});
  const std::vector<json> lines = process.rest();
  EXPECT_EQ(process.wait(), 0);
  ASSERT_GE(lines.size(), 4u);  // start, warm-up, one or more, end
  std::int64_t before = 0, measured = 0, last = 0;
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    const auto began = lines[i].at("began_ns").get<std::int64_t>();
    const auto ended = lines[i].at("ended_ns").get<std::int64_t>();
    EXPECT_GE(began, before);
    EXPECT_EQ(ended - began, lines[i].at("wall_ns").get<std::int64_t>());
    EXPECT_EQ(lines[i].at("warmup"), i == 1);
    before = ended;
    last = i == 1 ? 0 : ended - began;
    measured += last;
  }
  EXPECT_TRUE(measured >= 1'000'000 || lines.size() == 5003);
  EXPECT_LT(measured - last, 1'000'000) << "it went on although it had been long enough";
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // the clock that a recorder reads
  EXPECT_LT(before, now.tv_sec * 1'000'000'000 + now.tv_nsec);
  EXPECT_GT(before, (now.tv_sec - 60) * 1'000'000'000);
  expect_usage_error({{"--run", "--seconds", "1", "--repeats", "2"}, "--help"});
}

// The failure comes after two good repeats: the process must keep their lines.
TEST_P(HarnessEnding, has_its_status_and_exit_code_and_keeps_what_was_measured_before) {
  Process process(
      {"--run", "--arg", std::string("how=") + GetParam().how, "--arg", "at=2", "--repeats", "4"});
  const std::vector<json> lines = process.rest();
  EXPECT_EQ(process.wait(), GetParam().exit_code);
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines[1].at("ok"), true);
  EXPECT_EQ(lines[2].at("ok"), true);
  const json& last = lines.back();
  EXPECT_EQ(last.at("event"), "end");
  EXPECT_EQ(last.at("status"), GetParam().status);
  EXPECT_NE(last.at("reason").get<std::string>().find(GetParam().reason), std::string::npos)
      << last;
}

INSTANTIATE_TEST_SUITE_P(
    Of, HarnessEnding,
    testing::Values(Ending{"a_wrong_answer", "1", 3, "wrong", "repeat 2 answered 41: expected 42"},
                    Ending{"an_exception_whose_text_is_not_utf8", "2", 6, "crashed",
                           "no \"luck\"\n\xEF\xBF\xBD"},
                    Ending{"something_thrown_that_is_no_exception", "3", 6, "crashed",
                           "left the program"},
                    Ending{"lack_of_memory", "4", 5, "out_of_memory", "allocation"},
                    Ending{"a_thread_that_cannot_be_made", "5", 4, "refused", "unavailable"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Harness, a_signal_leaves_whole_lines_and_no_end) {
  Process process({"--run", "--arg", "how=6", "--arg", "at=1", "--repeats", "4"});
  const std::vector<json> lines = process.rest();
  EXPECT_EQ(process.wait(), -SIGKILL);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].at("event"), "repeat");
}

TEST(Harness, every_line_is_readable_before_the_program_goes_on) {
  Process process({"--run", "--arg", "how=7", "--arg", "at=2", "--repeats", "9"});
  EXPECT_EQ(process.next().at("event"), "start");
  EXPECT_EQ(process.next().at("repeat"), 0);
  EXPECT_EQ(process.next().at("repeat"), 1);  // the next repeat hangs: these came before its end
  process.kill(SIGTERM);
  EXPECT_EQ(process.rest(), std::vector<json>());
  EXPECT_EQ(process.wait(), -SIGTERM);
}

TEST(Harness, a_number_of_tasks_that_was_not_made_is_a_wrong_answer) {
  Process process({"--run", "--arg", "how=8"});
  const std::vector<json> lines = process.rest();
  EXPECT_EQ(process.wait(), 3);
  EXPECT_EQ(lines.back().at("status"), "wrong");
  EXPECT_NE(lines.back().at("reason").get<std::string>().find("states 2 tasks but made 1"),
            std::string::npos);
}

TEST(Harness, an_input_that_the_program_refuses_is_a_usage_error) {
  expect_usage_error({{"--run", "--arg", "how=9"}, "this input is refused"});
}

TEST(Harness, bad_options_are_one_sentence_with_the_remedy) {
  expect_usage_error({{}, "either --describe or --run"});
  expect_usage_error({{"--run", "--describe"}, "either --describe or --run"});
  expect_usage_error({{"--run", "--what"}, "--help"});
  expect_usage_error({{"--run", "--threads", "0"}, "--help"});
  expect_usage_error({{"--run", "--threads", "many"}, "--help"});
  expect_usage_error({{"--run", "--repeats", "0"}, "--help"});
  expect_usage_error({{"--run", "--size", "huge"}, "smoke"});
  expect_usage_error({{"--run", "--variant", "other"}, "there is plain"});
  expect_usage_error({{"--run", "--arg", "depth=3"}, "there is how, at, input"});
  expect_usage_error({{"--run", "--arg", "how"}, "from 0 to 9"});
  expect_usage_error({{"--run", "--arg", "how=10"}, "from 0 to 9"});
  expect_usage_error({{"--run", "--arg", "how=-1"}, "from 0 to 9"});
  expect_usage_error({{"--run", "--arg", "how=1e1"}, "from 0 to 9"});
  expect_usage_error({{"--run", "--arg", "how=99999999999999999999"}, "from 0 to 9"});
}

TEST(Harness, input_files_that_cannot_be_read_are_refused) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("harness_test." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  expect_usage_error({{"--run", "--arg", "input=" + (folder / "none").string()}, "does not exist"});
  expect_usage_error({{"--run", "--arg", "input=" + folder.string()}, "not a regular file"});
  expect_usage_error({{"--run", "--arg", "input=/dev/zero"}, "not a regular file"});
  const auto large = folder / "large";
  std::ofstream(large) << "x";
  std::filesystem::resize_file(large, (std::uintmax_t{64} << 20) + 1);  // sparse
  expect_usage_error({{"--run", "--arg", "input=" + large.string()}, "larger than 64 MiB"});
  std::filesystem::remove_all(folder);
}

// Otherwise executables that differ only in their layout would have different yardsticks.
TEST(Harness, the_yardstick_begins_where_a_line_of_the_cache_does) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "this sanitizer puts data of its own before a function's code";
#endif
#endif
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&bench::yardstick_ns) % 64, 0);
}

TEST(Harness, results_that_cannot_be_written_end_the_run) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  Process process({"--run"}, "/dev/full");
  EXPECT_EQ(process.rest(), std::vector<json>());
  EXPECT_EQ(process.wait(), 2);
  EXPECT_NE(process.errors().find("cannot write the results"), std::string::npos);
}

}  // namespace
