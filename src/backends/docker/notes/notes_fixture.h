// A test whose runtime directory is its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/scratch_fixture.h"

namespace nutshell::docker {

class NotesTest : public testing::Test {
 protected:
  NotesTest() {
    std::filesystem::permissions(scratch_.path(), std::filesystem::perms::owner_all);
    ::setenv("NUTSHELL_RUNTIME_DIR", scratch_.path().c_str(), 1);
  }
  ~NotesTest() override { ::unsetenv("NUTSHELL_RUNTIME_DIR"); }
  ScratchDirectory scratch_;
};

}  // namespace nutshell::docker
