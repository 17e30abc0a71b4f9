// Reports the differences from the base, a batch at a time.
#pragma once

#include <string>

#include "init/conversation/conversation.h"
#include "init/layers/change_walk.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

wire::FileChange describe_change(const ChangeWalk::Change& change);

class ChangesConversation : public Conversation {
 public:
  ChangesConversation(std::uint32_t number, const wire::ListChanges& request, ChangeWalk walk);

  Result<> receive(const wire::Frame& frame) override;
  std::optional<std::string_view> ready() override;
  void sent() override;
  [[nodiscard]] bool is_over() const override { return is_over_; }

 private:
  Result<> collect(wire::Changes& batch);

  std::uint32_t number_;
  std::uint64_t window_;
  ChangeWalk walk_;
  std::uint64_t sent_ = 0;
  std::uint64_t consumed_ = 0;
  std::string frame_;
  bool is_last_ = false;
  bool is_over_ = false;
};

}  // namespace nutshell::init
