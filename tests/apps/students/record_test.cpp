// Reads lines and files: the accepted ones, the text of each complaint, and the grade.
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "students/complaint.hpp"
#include "students/input.hpp"
#include "students/parse.hpp"
#include "students/record.hpp"

namespace {

using students::BadLine;
using students::Failure;
using students::File;
using students::Input;
using students::Line;
using students::LineReader;
using students::Record;
using students::Rules;

// The parsed line, or the complaint. AddressSanitizer sees a read behind the text's last byte.
std::string said(const Rules& rules, const std::string& text) {
  const auto exact = std::make_unique<char[]>(text.size());
  std::memcpy(exact.get(), text.data(), text.size());
  Line line;
  try {
    const char* const next =
        students::parse_line(rules, exact.get(), exact.get() + text.size(), line);
    return std::to_string(next - exact.get()) + " " + std::to_string(line.number) + " " +
           std::to_string(line.points) + (line.above ? " above " : " ") + std::string(line.person);
  } catch (const BadLine& error) {
    return error.what();
  }
}

Rules rules_of(File file, std::uint32_t exercises = 0, std::uint32_t maximum = 5) {
  return {.file = file, .exercises = exercises, .maximum = maximum};
}

TEST(Line, of_each_file_is_read) {
  EXPECT_EQ(said(rules_of(students::kBasic), "00012\tAli Baba Päivi\tTOL\nx"),
            "26 12 0 Ali Baba Päivi\tTOL");
  EXPECT_EQ(said(rules_of(students::kExam), "00012\t4\n"), "8 12 4 ");
  EXPECT_EQ(said(rules_of(students::kProject), "1000000000\t22\n"), "14 1000000000 22 above ");
  EXPECT_EQ(said(rules_of(students::kExercise, 6), "123456\t1\t2\t3\t4\t5\t0\n"), "19 123456 15 ");
  EXPECT_EQ(said(rules_of(students::kExercise, 2, 1000), "7\t1000\t0999\n"), "12 7 1999 ");
}

TEST(Line, is_refused_with_what_is_wrong_and_what_helps) {
  const std::vector<std::array<std::string, 3>> cases{
      {"exam", "00012\t4\r\n", "it ends with CR LF; convert"},
      {"exam", "00012\t4", "its line feed is missing, so the file is not whole; copy or"},
      {"exam", "\n", "it is empty; remove it."},
      {"exam", "00000\t4\n", "the student number is '00000', not a whole number from 1 to 10"},
      {"exam", "1000000001\t4\n", "the student number is '1000000001', not"},
      {"exam", "00000000012\t4\n", "the student number is '00000000012', not"},
      {"exam", "4294967297\t4\n", "the student number is '4294967297', not"},
      {"exam", "-12\t4\n", "the student number is '-12', not"},
      {"exam", "\t4\n", "the student number is '', not"},
      {"exam", "00012\n", "it has 1 field between tabs, not 2 (number, points)"},
      {"exam", "00012\t4\t4\n", "it has 3 fields between tabs, not 2 (number, points)"},
      {"exam", "00012\t\n", "the points are '', not a whole number from 0 to 1000; correct"},
      {"exam", "00012\t4 \n", "the points are '4 ', not"},
      {"exam", "00012\t1001\n", "the points are '1001', not"},
      {"exam", "00012\t-1\n", "the points are '-1', not"},
      {"exam", "00012\t\xc3\xa4\n", "the points are '\?\?', not"},
      {"exercise", "00012\t1\t2\n", "it has points of 2 exercises, and line 2 has 3; give all"},
      {"exercise", "00012\t1\t2\t3\t4\n", "it has points of 4 exercises, and line 2 has 3"},
      {"exercise", "00012\t1\t:\t3\n", "the points are ':', not"},
      {"exercise", "00012\t1\t2\t\n", "the points are '', not"},
      {"basic", "00012\tVirtanen Onni\n", "it has 2 fields between tabs, not 3 (number, name"},
      {"basic", "00012\t\tTOL\n", "the name is empty; add it."},
      {"basic", "00012\tVirtanen Onni\t\n", "the programme is empty; add it."},
      {"basic", "00012\tJ\xe4rvi Onni\tTOL\n", "the name 'J?rvi Onni' is not valid UTF-8; conv"},
      {"basic", "00012\tOnni\tT\x01L\n", "the programme 'T?L' has a control character; remove"},
      {"basic", "00012\tOnni\tT\xed\xa0\x80\n", "the programme 'T\?\?\?' is not valid UTF-8"},
      {"basic", "00012\tOnni\tT\xc0\xaf\n", "the programme 'T\?\?' is not valid UTF-8"},
      {"basic", "00012\tOnni\tT\xf5\x80\x80\x80\n", "the programme 'T\?\?\?\?' is not valid UTF-8"},
      {"basic", "00012\t" + std::string(252, 'x') + "\tTOL\n", "name and programme have 256 bytes"},
  };
  for (const auto& [file, text, expected] : cases) {
    const Rules rules = rules_of(file == "exam"    ? students::kExam
                                 : file == "basic" ? students::kBasic
                                                   : students::kExercise,
                                 3);
    EXPECT_EQ(said(rules, text).substr(0, expected.size()), expected) << text;
  }
  EXPECT_EQ(said(rules_of(students::kBasic), "1\t" + std::string(251, 'x') + "\tTOL\n")[0], '2');
}

// Only the complete parser reads a number of ten digits, so the two parsers must agree.
TEST(Line, is_read_alike_by_the_fast_and_by_the_complete_parser) {
  std::minstd_rand random(7);
  const std::string bytes("0123456789\t\n\r -:/x\x7f\x00\xc3\xa4\xe2\x82\xac\xf0\xff", 27);
  const std::array<std::string, 4> rests{"\tMeik\xc3\xa4l\xc3\xa4inen Onni-Aino\tTOL\n", "\t4\n",
                                         "\t1\t2\t3\t4\t5\t0\t1\t2\t3\t4\n", "\t0\n"};
  int read = 0;
  for (int i = 0; i < 200'000; ++i) {
    const File file = static_cast<File>(random() % students::kFiles);
    std::string rest = rests[file];
    for (auto changes = random() % 3; changes > 0; --changes) {
      const auto place = random() % rest.size();
      const auto kind = random() % 3;
      if (kind == 0) rest[place] = bytes[random() % bytes.size()];
      if (kind == 1) rest.insert(place, 1, bytes[random() % bytes.size()]);
      if (kind == 2 && rest.size() > 1) rest.erase(place, 1);
    }
    const Rules rules = rules_of(file, 10, static_cast<std::uint32_t>(random() % 12));
    const std::string digits = std::to_string(1 + random() % 99'999'999);
    const std::string fast = said(rules, digits + rest);
    const std::string complete = said(rules, std::string(10 - digits.size(), '0') + digits + rest);
    const auto without_length = [](const std::string& text) {
      return text[0] < '0' || text[0] > '9' ? text : text.substr(text.find(' '));
    };
    // Skip complaints about the number, because they quote the number.
    if (rest[0] != '\t') continue;
    EXPECT_EQ(without_length(fast), without_length(complete)) << digits << rest;
    read += fast[0] >= '0' && fast[0] <= '9' ? 1 : 0;
  }
  EXPECT_GT(read, 50'000);
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "students.XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }

  void write(File file, const std::string& text) const {
    std::ofstream(path / students::kFileNames[file], std::ios::binary) << text;
  }

  std::filesystem::path path;
};

std::string complaint_of(const Folder& folder, File file) {
  try {
    const Input input(folder.path, file);
    LineReader reader(input);
    Line line;
    while (reader.next(line)) {
    }
    return "none";
  } catch (const Failure& error) {
    const std::string text = error.what();
    const std::string name = folder.path / students::kFileNames[file];
    EXPECT_EQ(text.substr(0, name.size()), name);
    return text.substr(name.size());
  }
}

TEST(Input, of_a_foreign_kind_is_refused_with_the_line) {
  const Folder folder;
  EXPECT_EQ(complaint_of(folder, students::kExam).substr(0, 16), " does not exist;");
  const std::vector<std::array<std::string, 2>> cases{
      {"", " is empty, and its first line must be 'examdata'; copy or generate it again."},
      {"\xef\xbb\xbf"
       "examdata\n",
       ", line 1: it begins with a byte order mark; save"},
      {std::string("\xff\xfe"
                   "e\0x\0",
                   6),
       ", line 1: it is UTF-16, not UTF-8; convert"},
      {std::string("\0e\0x\0a", 6), ", line 1: it is UTF-16, not UTF-8; convert"},
      {"examdata\r\n00001\t1\r\n", ", line 1: it ends with CR LF; convert"},
      {"studentdata\n",
       ", line 1: the content type is 'studentdata', not 'examdata'; this is "
       "what basic-student-info.txt should be"},
      {"\x7f"
       "ELF\n",
       ", line 1: the content type is '?ELF', not 'examdata'; put a file"},
      {"examd", ", line 1: the file ends within it; copy or generate the file again."},
      {"examdata\n00001\t1\n00002\t1\r\n", ", line 3: it ends with CR LF"},
      {"examdata\n00001\t1\n00002\t", ", line 3: its line feed is missing"},
      {"examdata\n00001\t1\n0000x\t1\n", ", line 3: the student number is '0000x'"},
      {"examdata\n" + std::string(300'000, '1') + "\n", ", line 2: it is longer than any line can"},
  };
  for (const auto& [text, expected] : cases) {
    folder.write(students::kExam, text);
    EXPECT_EQ(complaint_of(folder, students::kExam).substr(0, expected.size()), expected) << text;
  }
  folder.write(students::kExam, "examdata\n");
  EXPECT_EQ(complaint_of(folder, students::kExam), "none");
  folder.write(students::kExercise, "exercisedata\n00001\n");
  EXPECT_EQ(complaint_of(folder, students::kExercise).substr(0, 40),
            ", line 2: it has points of 0 exercises, ");
}

TEST(Input, says_in_which_lines_a_student_is_twice) {
  const Folder folder;
  folder.write(students::kProject, "exerciseworkdata\n00003\t1\n00002\t1\n3\t2\n");
  const Input input(folder.path, students::kProject);
  const std::string text = input.twice(3).what();
  EXPECT_NE(text.find("project-info.txt, line 4: the student 00003 is already in line 2; remove"),
            std::string::npos);
}

TEST(LineReader, gives_each_line_once_whichever_way_the_file_is_divided) {
  const Folder folder;
  std::string text = "examdata\n";
  std::vector<std::uint32_t> right;
  for (std::uint32_t i = 1; i < 60; ++i) {
    right.push_back(i * i * i);
    text += std::to_string(i * i * i) + "\t" + std::to_string(i % 6) + "\n";
  }
  folder.write(students::kExam, text);
  const Input input(folder.path, students::kExam);
  for (std::uint64_t part = 1; part < input.size(); ++part) {
    std::vector<std::uint32_t> found;
    for (std::uint64_t begin = input.first(); begin < input.size(); begin += part) {
      LineReader reader(input, begin, std::min(begin + part, input.size()));
      Line line;
      while (reader.next(line)) {
        found.push_back(line.number);
        EXPECT_EQ(text.substr(reader.line_offset(), std::to_string(line.number).size()),
                  std::to_string(line.number));
      }
    }
    EXPECT_EQ(found, right) << part;
  }
}

TEST(Record, is_complete_when_all_four_files_are_added) {
  const std::array<std::string, 4> lines{"7\tA B\tTT\n", "7\t5\n", "7\t1\t2\n", "7\t3\n"};
  Record record;
  record.number = 7;
  for (const std::size_t file : {2U, 0U, 3U, 1U}) {
    EXPECT_FALSE(record.complete());
    const Rules rules = rules_of(static_cast<File>(file), 2);
    Line line;
    students::parse_line(rules, lines[file].data(), lines[file].data() + lines[file].size(), line);
    const Record other = students::record_of(rules, line);
    EXPECT_EQ(students::add_missing(record, other), 0U);
    EXPECT_EQ(students::add_missing(record, other), students::bit(rules.file));
  }
  EXPECT_TRUE(record.complete());
  // 5 of 5, and 6 of 15: 70 %.
  const unsigned grade = students::grade(record.points, {.maximum = 5, .exercises = 2});
  std::array<char, students::kMostResultBytes> text{};
  char* const end =
      students::put_result(text.data(), record.number, record.person, record.points, grade);
  const std::string line(text.data(), end);
  EXPECT_EQ(line, "00007\tA B\tTT\t5\t3\t3\t3\n");
  EXPECT_EQ(line.size(),
            students::result_bytes(record.number, record.person.size(), record.points));
}

TEST(Grade, follows_the_documented_thresholds) {
  const students::Scale scale{.maximum = 10, .exercises = 9};
  EXPECT_EQ(students::grade({.exam = 4, .exercises = 90, .project = 10}, scale), 0U);
  EXPECT_EQ(students::grade({.exam = 5, .exercises = 49, .project = 0}, scale), 0U);
  EXPECT_EQ(students::grade({.exam = 5, .exercises = 45, .project = 5}, scale), 1U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 0, .project = 0}, scale), 1U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 20, .project = 0}, scale), 2U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 39, .project = 0}, scale), 2U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 30, .project = 10}, scale), 3U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 60, .project = 0}, scale), 4U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 70, .project = 9}, scale), 4U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 70, .project = 10}, scale), 5U);
  EXPECT_EQ(students::grade({.exam = 10, .exercises = 90, .project = 10}, scale), 5U);
  EXPECT_EQ(students::grade({.exam = 20, .exercises = 0, .project = 0}, scale), 5U);
  EXPECT_EQ(
      students::grade({.exam = 2, .exercises = 5, .project = 5}, {.maximum = 5, .exercises = 1}),
      0U);
}

}  // namespace
