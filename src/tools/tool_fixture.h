// Runs a tool against an init that answers from a script, for the tests of the tools.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/socket.h"
#include "tools/argument_parser.h"
#include "tools/result_text.h"
#include "tools/tool_context.h"
#include "wire/frame.h"

namespace nutshell {

// The replies are written before they are asked for: the client reads them in order.
class ScriptedInit {
 public:
  ScriptedInit() : ScriptedInit(std::move(*make_socket_pair(SocketKind::Stream))) {}

  // Answers the next request with these messages.
  template <typename... Messages>
  void answer(Messages... messages) {
    ++conversation_;
    std::string bytes;
    (wire::append_frame(bytes, conversation_, std::move(messages)), ...);
    EXPECT_TRUE(write_all(stream_.get(), bytes));
  }
  void hang_up() { stream_.reset(); }

  // The next request of this type that the tool sent.
  template <typename Message>
  Message asked() {
    for (;;) {
      auto frame = reader_.next();
      if (frame && *frame && (*frame)->type == Message::kType)
        return *wire::decode<Message>((*frame)->payload);
      if (frame && *frame) continue;
      const auto [space, size] = reader_.space();
      const ssize_t count = ::recv(stream_.get(), space, size, MSG_DONTWAIT);
      if (!frame || count <= 0) {
        ADD_FAILURE() << "the tool did not ask for this";
        return {};
      }
      reader_.filled(static_cast<std::size_t>(count));
    }
  }

  wire::InitClient client;

 private:
  explicit ScriptedInit(std::pair<UniqueFd, UniqueFd> pair)
      : client(std::move(pair.first)), stream_(std::move(pair.second)) {
    std::string hello;
    wire::append_frame(hello, 0, wire::Hello{});
    EXPECT_TRUE(write_all(stream_.get(), hello));
  }

  UniqueFd stream_;
  wire::FrameReader reader_{wire::kMostRequestPayload};
  std::uint32_t conversation_ = 0;
};

class WordCounter : public TokenCounter {
 public:
  [[nodiscard]] std::size_t count(std::string_view text) const override {
    return (text.size() + 3) / 4;
  }
};

// Shows standard output and standard error as they are.
class PlainRenderer : public OutputRenderer {
 public:
  [[nodiscard]] RenderedOutput render(const CommandOutput& output, Style style,
                                      std::size_t max_tokens) const override {
    RenderedOutput rendered;
    rendered.text = std::string(output.output) + std::string(output.error);
    rendered.is_cut = rendered.text.size() > max_tokens * 4;
    if (rendered.is_cut) rendered.text.resize(max_tokens * 4);
    rendered.parser = style == Style::Raw ? "raw" : "plain";
    return rendered;
  }
};

class FakeOutputs : public OutputKeeper {
 public:
  Result<StoredOutput> load(const std::string& id) override {
    if (id == stored_id) return stored;
    return failure(ErrorCode::Expired, "Unknown output id " + id);
  }
  [[nodiscard]] std::uint64_t size_of(const std::string& id) const override {
    return id == stored_id ? stored.output.head.size() + stored.error.head.size() : 0;
  }
  Result<std::string> keep(const std::string& /*command*/, std::string_view /*output*/) override {
    return std::string("o1");
  }
  Result<std::string> shown_before(std::string_view question, std::string_view /*text*/,
                                   const std::string& /*id*/) override {
    questions.emplace_back(question);
    return before;
  }

  std::string stored_id = "o1";
  StoredOutput stored;
  std::string before;  // the id under which the text was shown; empty: never
  std::vector<std::string> questions;
};

class FakeCommands : public CommandRunner {
 public:
  Result<CommandState> run(const CommandRequest& request) override {
    requests.push_back(request);
    state.shown = request.shown;
    return state;
  }
  Result<CommandState> look(const JobRequest& request) override {
    looks.push_back(request);
    if (request.id == state.job_id) return state;
    return failure(ErrorCode::NotFound, "Jobs: j4.");
  }

  CommandState state;
  std::vector<CommandRequest> requests;
  std::vector<JobRequest> looks;
};

class ToolTest : public testing::Test {
 protected:
  // The result of a call with these arguments, as JSON.
  ToolResult call(const Tool& tool, std::string_view json) {
    auto arguments = parse_arguments(tool, json, context.dialect);
    if (auto* error = std::get_if<ToolError>(&arguments)) return refuse(std::move(*error));
    auto result = tool.run(std::get<Arguments>(arguments), context);
    if (result) return std::move(*result);
    return refuse(ToolError{result.error().code, result.error().message});
  }
  std::string text(const Tool& tool, std::string_view json) { return call(tool, json).text; }

  ScriptedInit init;
  WordCounter tokens;
  PlainRenderer renderer;
  FakeOutputs outputs;
  FakeCommands commands;
  CallMemory memory;
  ToolContext context{init.client, tokens, renderer, outputs, commands, memory};
};

}  // namespace nutshell
