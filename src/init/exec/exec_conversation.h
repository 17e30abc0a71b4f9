// A connection's view of an exec: passes messages to it, and its output and end back.
#pragma once

#include <functional>
#include <string>

#include "init/conversation/conversation.h"
#include "init/exec/exec.h"

namespace nutshell::init {

class ExecConversation : public Conversation {
 public:
  // Calls `released` when this conversation no longer uses the exec.
  using Released = std::function<void(Exec&)>;
  ExecConversation(std::uint32_t number, Exec& exec, Released released)
      : number_(number), exec_(&exec), released_(std::move(released)) {}
  ~ExecConversation() override;

  Result<> receive(const wire::Frame& frame) override;
  std::optional<std::string_view> ready() override;
  void sent() override;
  [[nodiscard]] bool is_over() const override { return is_over_; }

  // Called when another connection took the exec over: this one gets no more of it.
  void detach();

 private:
  enum class Last { None, Output, Error, Reply, End };
  Result<> receive_data(const wire::Frame& frame);

  std::uint32_t number_;
  Exec* exec_;  // null once detached
  Released released_;
  std::string reply_;
  std::uint64_t announced_input_ = 0;
  Last last_ = Last::None;
  bool is_over_ = false;
};

}  // namespace nutshell::init
