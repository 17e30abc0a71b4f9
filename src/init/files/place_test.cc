// Places on mounts, as in a sandbox.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/files/files_fixture.h"

namespace nutshell::init {
namespace {

constexpr int kNoNamespaces = 77;

class MountedPlaceTest : public FilesTest {
 protected:
  // Runs `body` in new mount and user namespaces, where /workspace is a mount with another mount in
  // it; returns its exit status.
  template <typename Body>
  int with_mounts(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(enter() ? body() : kNoNamespaces);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] bool enter() const {
    const std::string user = "0 " + std::to_string(::geteuid()) + " 1";
    const std::string group = "0 " + std::to_string(::getegid()) + " 1";
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    const bool is_mapped = write_value("/proc/self/setgroups", "deny") &&
                           write_value("/proc/self/uid_map", user) &&
                           write_value("/proc/self/gid_map", group);
    if (!is_mapped) return false;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    const std::string workspace = base_ / "workspace";
    const std::string nested = base_ / "workspace" / "nested";
    return ::mount("tmpfs", workspace.c_str(), "tmpfs", 0, "size=1m") == 0 &&
           ::mkdir(nested.c_str(), 0755) == 0 &&
           ::mount("tmpfs", nested.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
};

TEST_F(MountedPlaceTest, MountDecidesAndNotThePath) {
  const int status = with_mounts([&] {
    std::filesystem::create_directory_symlink(outside(""), path("way"));
    if (!put("made/file", "x") || !edit("made/file", "x", "y")) return 1;
    if (put("way/file", "x").error().code != ErrorCode::OutsideRoot) return 2;
    if (put("nested/file", "x").error().code != ErrorCode::PermissionDenied) return 3;
    if (put("nested/made/file", "x").error().code != ErrorCode::PermissionDenied) return 4;
    if (remove_all("nested")) return 5;
    return remove_all("made") && undo() ? 0 : 6;
  });
  if (status == kNoNamespaces) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(base_ / "outside"));
}

}  // namespace
}  // namespace nutshell::init
