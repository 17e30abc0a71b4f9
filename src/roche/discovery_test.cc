#include "roche/discovery.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::roche {
namespace {

TEST(RocheDiscovery, IsReadAsItWasWritten) {
  const ScratchDirectory scratch;
  const auto path = scratch / ".roche/daemon.json";
  ASSERT_TRUE(write_discovery(path, {4711, 50051}));
  const auto info = read_discovery(path);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->pid, 4711);
  EXPECT_EQ(info->port, 50051);
  struct stat found {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST(RocheDiscovery, IsRemovedOnlyByItsProcess) {
  const ScratchDirectory scratch;
  const auto path = scratch / "daemon.json";
  ASSERT_TRUE(write_discovery(path, {4711, 1}));
  remove_discovery(path, 4712);
  EXPECT_TRUE(std::filesystem::exists(path));
  remove_discovery(path, 4711);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RocheDiscovery, RefusesWhatNamesNoDaemon) {
  const ScratchDirectory scratch;
  const auto path = scratch / "daemon.json";
  for (const char* text : {"", "{}", "[]", "7", R"({"pid":1})", R"({"pid":1,"port":0})",
                           R"({"pid":1,"port":65536})", R"({"pid":-1,"port":1})",
                           R"({"pid":"1","port":1})", R"({"pid":1e99,"port":1})", "{\"pid\":"}) {
    ASSERT_TRUE(write_file(path, text, 0600));
    EXPECT_FALSE(read_discovery(path)) << text;
  }
}

}  // namespace
}  // namespace nutshell::roche
