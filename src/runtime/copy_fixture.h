// A temporary directory with a place for the host's files and one for the sandbox's.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/result.h"

namespace nutshell {

class CopyDirectories : public testing::Test {
 protected:
  CopyDirectories() {
    std::string pattern = (std::filesystem::temp_directory_path() / "copy-test-XXXXXX").native();
    root_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(host_ = root_ / "host");
    std::filesystem::create_directories(box_ = root_ / "box");
  }
  ~CopyDirectories() override {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      if (!entry.is_directory() || entry.is_symlink()) continue;
      std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all,
                                   std::filesystem::perm_options::add, ignored);
    }
    std::filesystem::remove_all(root_, ignored);
  }

  static void put(const std::filesystem::path& path, const std::string& text, mode_t mode = 0644) {
    std::ofstream(path, std::ios::binary) << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static unsigned mode_of(const std::filesystem::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }
  static bool is_link(const std::filesystem::path& path) {
    return std::filesystem::is_symlink(std::filesystem::symlink_status(path));
  }
  static std::size_t count_in(const std::filesystem::path& path) {
    const std::filesystem::directory_iterator entries(path);
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }
  template <typename T>
  static std::string error_of(const Result<T>& result) {
    return result ? "" : result.error().message;
  }

  std::filesystem::path root_;
  std::filesystem::path host_;
  std::filesystem::path box_;
};

}  // namespace nutshell
