// The file tools on a scratch directory: /workspace and /tmp are two directories in it, and a third
// stands for the files outside.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "init/files/files_conversation.h"
#include "init/files/mutations.h"
#include "init/files/put_file.h"
#include "init/files/read_text.h"
#include "init/files/undo.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

// Sends `bytes` in parts, and reads the answer off the wire.
inline Attempt<wire::Changed> put_file(FilesState& state, const wire::PutFile& request,
                                       std::string_view bytes, std::size_t part = wire::kMostData) {
  const auto conversation = open_put(7, request, state);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(part, bytes.size()))) {
    const std::string payload = wire::encode(wire::FileData{std::string(bytes.substr(0, part))});
    EXPECT_TRUE(conversation->receive({7, wire::MessageType::FileData, payload}));
  }
  EXPECT_TRUE(conversation->receive({7, wire::MessageType::FileEnd, {}}));
  std::string frame(conversation->ready().value());
  conversation->sent();
  EXPECT_TRUE(conversation->is_over());
  const std::string_view payload = std::string_view(frame).substr(wire::kHeaderBytes);
  if (auto changed = wire::decode<wire::Changed>(payload)) return std::move(*changed);
  auto refused = wire::decode<wire::Refused>(payload);
  EXPECT_TRUE(refused);
  return Refusal(std::move(*refused));
}

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    // The real path, in case /tmp is a link.
    base_ = std::filesystem::canonical(scratch_.path());
    for (const char* name : {"workspace", "tmp", "outside"})
      std::filesystem::create_directory(base_ / name);
    state_.working_directory = path("");
    state_.working_directory.pop_back();
    state_.roots = WritableRoots({base_ / "workspace", base_ / "tmp"});
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return base_ / "workspace" / name;
  }
  [[nodiscard]] std::string outside(const std::string& name) const {
    return base_ / "outside" / name;
  }
  void make(const std::string& name, std::string_view bytes, unsigned mode = 0644) const {
    ASSERT_TRUE(write_file(path(name), bytes));
    ASSERT_EQ(::chmod(path(name).c_str(), mode), 0);
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    return read_file(path(name), 1U << 28U).value_or("<none>");
  }
  [[nodiscard]] unsigned mode(const std::string& name) const {
    struct stat status {};
    return ::lstat(path(name).c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path(name)));
  }
  // Checks that no temporary file is left behind.
  void TearDown() override {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(base_)) {
      EXPECT_FALSE(entry.path().filename().native().starts_with(".nutshell-")) << entry.path();
    }
  }

  Attempt<wire::Changed> put(const std::string& name, std::string_view bytes) {
    return put_file(state_, {name, 0644, {}}, bytes);
  }
  Attempt<wire::Changed> edit(const std::string& name, const std::string& old_text,
                              const std::string& new_text) {
    return edit_file(state_, {name, {{old_text, new_text, 0}}, {}});
  }
  Attempt<wire::Changed> remove(const std::string& name) { return remove_file(state_, {name, 0}); }
  Attempt<wire::Changed> remove_all(const std::string& name) {
    return remove_file(state_, {name, 1});
  }
  Attempt<wire::Changed> undo(const std::string& id = {}) { return undo_change(state_, {id}); }
  Attempt<wire::TextPage> read(const std::string& name) {
    return read_text(state_, {name, 1, 2000, wire::kMostPageBytes, 1000});
  }

  ScratchDirectory scratch_;
  std::filesystem::path base_;
  FilesState state_;
};

// For messages of failed expectations.
template <typename T>
std::string words(const Attempt<T>& attempt) {
  if (attempt) return "done";
  const wire::Refused& refused = attempt.error();
  return refused.code + ": " + refused.what + "\n" + refused.why + "\n" + refused.next;
}

}  // namespace nutshell::init
