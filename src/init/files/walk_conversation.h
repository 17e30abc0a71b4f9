// Walks a directory tree and reports its entries a batch at a time, parents before children.
// Directories that cannot be read are listed, but not entered; if there were any, the walk goes on
// and ends with a failure that says so.
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <vector>

#include "init/conversation/conversation.h"

namespace nutshell::init {

class WalkConversation : public Conversation {
 public:
  static Result<std::unique_ptr<Conversation>> open(std::uint32_t number,
                                                    const wire::Walk& request);

  Result<> receive(const wire::Frame& frame) override;
  std::optional<std::string_view> ready() override;
  void sent() override;
  [[nodiscard]] bool is_over() const override { return is_over_; }

 private:
  struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  struct Level {
    std::unique_ptr<DIR, CloseDirectory> directory;
    std::string path;  // relative to the start, empty or ending in a slash
  };
  Result<> enter(int parent, const std::string& name, std::string path);
  void collect(wire::Entries& batch);
  bool take_next_entry(wire::Entries& batch, std::size_t& bytes);
  void descend(int parent, const std::string& name, const std::string& path);
  void leave_out(Error reason);
  void finish();

  std::uint32_t number_ = 0;
  std::uint32_t most_depth_ = 0;
  std::uint64_t window_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t consumed_ = 0;
  std::vector<Level> levels_;
  std::uint64_t left_out_ = 0;
  Error first_left_out_;
  std::string frame_;
  bool is_last_ = false;
  bool is_over_ = false;
};

}  // namespace nutshell::init
