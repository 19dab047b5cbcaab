// The definitions. The slow code here is intended, because the original does the same.
#include "lines.hpp"

#include <cerrno>
#include <fstream>
#include <iomanip>
#include <ios>
#include <sstream>

#include "complaint.hpp"

namespace students {

void Buffers::add(const Data& data, std::uint64_t position) {
  const Student student = data.student(position);
  std::stringstream stream;
  stream << std::setw(static_cast<int>(kLeastDigits)) << std::setfill('0') << student.number;
  const std::string number = stream.str();
  const std::size_t programme = student.label % kProgrammes.size();
  const std::size_t name = student.label / kProgrammes.size();
  const std::string last(kLastNames[name % kLastNames.size()]);
  const std::string first(kFirstNames[name / kLastNames.size()]);
  lines_[kBasic].push_back(number + "\t" + last + " " + first + "\t" +
                           std::string(kProgrammes[programme]));
  lines_[kExam].push_back(number + "\t" + std::to_string(student.exam));
  std::string points = number;
  for (std::uint64_t part = 0; part * kExercisesInDraw < plan_.exercises; ++part) {
    Digits digits = data.exercises(position, part);
    const std::uint64_t first_exercise = part * kExercisesInDraw;
    for (std::uint64_t i = 0; i < kExercisesInDraw && first_exercise + i < plan_.exercises; ++i) {
      points = points + "\t" + std::to_string(digits.below(kGrades));
    }
  }
  lines_[kExercise].push_back(points);
  lines_[kProject].push_back(number + "\t" + std::to_string(student.project));
  ++count_;
}

const std::vector<std::string>& Buffers::shuffled(const Data& data, File file,
                                                  std::uint64_t block) {
  std::vector<std::string>& lines = lines_[file];
  // The empty strings at the beginning have no part in it, so that the order does not depend on
  // them.
  data.shuffle(file, block, lines.end() - static_cast<std::ptrdiff_t>(count_), count_);
  return lines;
}

void Buffers::clear() {
  for (std::vector<std::string>& lines : lines_) {
    lines.clear();
    lines.resize(plan_.block);  // meant to reserve, as in the original; the lines come behind these
  }
  count_ = 0;
}

void save_buffer(const Job& job, Buffers& buffers, File file, std::uint64_t block) {
  errno = 0;
  std::ofstream out(job.output.path(file), block == 0 ? std::ios::trunc : std::ios::app);
  const auto check = [&] {
    if (!out) throw write_failure(job.output.target(file), errno);
  };
  check();
  if (block == 0) out << kContentTypes[file] << std::endl;
  for (const std::string& line : buffers.shuffled(job.data, file, block)) {
    if (line.empty()) continue;
    out << line << std::endl;
    check();
    check_signals();
  }
  out.close();
  check();
}

OpenFiles::OpenFiles(const Job& job) : job_(job) {
  for (std::size_t i = 0; i < kFiles; ++i) {
    const File file = static_cast<File>(i);
    errno = 0;
    files_[i].open(job.output.path(file), std::ios::trunc);
    files_[i] << kContentTypes[i] << '\n';
    if (!files_[i]) throw write_failure(job.output.target(file), errno);
  }
}

void OpenFiles::save(Buffers& buffers, File file, std::uint64_t block) {
  errno = 0;
  for (const std::string& line : buffers.shuffled(job_.data, file, block)) {
    if (!line.empty()) files_[file] << line << '\n';
  }
  if (!files_[file]) throw write_failure(job_.output.target(file), errno);
}

void OpenFiles::close() {
  for (std::size_t i = 0; i < kFiles; ++i) {
    errno = 0;
    files_[i].close();
    if (!files_[i]) throw write_failure(job_.output.target(static_cast<File>(i)), errno);
  }
}

std::uint64_t memory_of_buffers(const Plan& plan) {
  return plan.block * (512 + 4 * plan.exercises);
}

}  // namespace students
