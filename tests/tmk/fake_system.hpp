// A folder with files of some machine's /proc and /sys, for functions that read them below a root.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace support {

class FakeSystem {
 public:
  FakeSystem() {
    std::string name = (std::filesystem::temp_directory_path() / "tmk_system_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) root_ = name;
  }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;
  ~FakeSystem() {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  FakeSystem& with(std::string_view path, std::string_view text) {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
    return *this;
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace support
