// Fixture for tests of real cgroups, run for each mix of cgroup versions that this host allows.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <sstream>
#include <string>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/cgroups/cgroup_name.h"
#include "base/file.h"

namespace nutshell::native {

// Which of the host's hierarchies the tested cgroup uses.
enum class CgroupShape { AsFound, WithoutV2, WithoutFreezer, OnlyV2 };

inline std::string lines_for(CgroupShape shape, const std::string& mountinfo) {
  std::istringstream stream(mountinfo);
  std::string kept;
  for (std::string line; std::getline(stream, line);) {
    const bool is_v2 = line.find(" - cgroup2 ") != std::string::npos;
    const bool is_freezer = line.find("freezer") != std::string::npos;
    if (shape == CgroupShape::OnlyV2 && !is_v2) continue;
    if ((shape == CgroupShape::WithoutV2 || shape == CgroupShape::WithoutFreezer) && is_v2)
      continue;
    if (shape == CgroupShape::WithoutFreezer && is_freezer) continue;
    kept += line + '\n';
  }
  return kept;
}

inline Deadline soon() {
  return Deadline::in(std::chrono::seconds(5));
}

class CgroupTestInShapes : public testing::TestWithParam<CgroupShape> {
 protected:
  void SetUp() override {
    const auto mountinfo = read_file("/proc/self/mountinfo", 16U << 20U);
    const auto memberships = read_file("/proc/self/cgroup");
    ASSERT_TRUE(mountinfo && memberships);
    host_ = CgroupHost::find_in(lines_for(GetParam(), *mountinfo), *memberships);
    if (host_.version() == CgroupVersion::None) {
      GTEST_SKIP() << "no cgroup of this shape can be made here: " << host_.why_not();
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  void TearDown() override {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    for (const auto& place : host_.places()) {
      ::unlinkat(place.directory.get(), kCgroupParent, AT_REMOVEDIR);
    }
  }

  Cgroup make() {
    auto cgroup = Cgroup::create(host_, fmt::format("{}.{}", *cgroup_owner_name(), ++number_));
    EXPECT_TRUE(cgroup) << cgroup.error().message;
    return std::move(cgroup).value();
  }

  std::string path_of(const Cgroup& cgroup, bool CgroupRoles::*role) const {
    for (const auto& place : host_.places()) {
      if (place.roles.*role)
        return fmt::format("{}/{}/{}", place.path, kCgroupParent, cgroup.name());
    }
    return {};
  }

  [[nodiscard]] int directories_of(const std::string& name) const {
    int count = 0;
    for (const auto& place : host_.places()) {
      const auto path = fmt::format("{}/{}", kCgroupParent, name);
      if (::faccessat(place.directory.get(), path.c_str(), F_OK, 0) == 0) ++count;
    }
    return count;
  }

  // Returns once the child has joined the group.
  static pid_t run_inside(const Cgroup& cgroup, const std::function<void()>& body) {
    int ready[2];
    if (::pipe(ready) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      const int error = Cgroup::join_by(cgroup.join_descriptors());
      if (::write(ready[1], &error, sizeof error) != sizeof error || error != 0) ::_exit(99);
      body();
      ::_exit(0);
    }
    int error = -1;
    EXPECT_EQ(::read(ready[0], &error, sizeof error), static_cast<ssize_t>(sizeof error));
    EXPECT_EQ(error, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    return child;
  }

  static int status_of(pid_t child) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  bool is_v2() const { return host_.version() == CgroupVersion::V2; }

  CgroupHost host_;
  int number_ = 0;
};

inline void sleep_forever() {
  for (;;)
    ::pause();
}

inline void touch_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* cells = static_cast<volatile char*>(memory);
  for (std::size_t i = 0; i < bytes; i += 4096)
    cells[i] = 1;
}

inline std::string name_of_shape(const testing::TestParamInfo<CgroupShape>& shape) {
  switch (shape.param) {
    case CgroupShape::AsFound:
      return "AsFound";
    case CgroupShape::WithoutV2:
      return "WithoutV2";
    case CgroupShape::WithoutFreezer:
      return "WithoutFreezer";
    case CgroupShape::OnlyV2:
      return "OnlyV2";
  }
  return "Unknown";
}

inline auto all_shapes() {
  return testing::Values(CgroupShape::AsFound, CgroupShape::WithoutV2, CgroupShape::WithoutFreezer,
                         CgroupShape::OnlyV2);
}

}  // namespace nutshell::native
