// An MCP server as a client has it: a process on two pipes, asked one thing after the other.
#pragma once

#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::bench {

class McpProcess {
 public:
  static Result<McpProcess> start(const std::vector<std::string>& command,
                                  const std::string& directory);
  McpProcess(McpProcess&&) = default;
  McpProcess& operator=(McpProcess&&) = delete;
  ~McpProcess();  // closes its input and waits for its end

  Result<> initialize();
  // `params` is the text of an object. Fails on an error, and on a result that is one.
  Result<std::string> ask(const std::string& method, const std::string& params);
  Result<> call(const std::string& tool, const std::string& arguments);
  [[nodiscard]] pid_t pid() const { return process_.pid(); }

 private:
  McpProcess(ChildProcess process, UniqueFd input, UniqueFd output)
      : process_(std::move(process)), input_(std::move(input)), output_(std::move(output)) {}
  Result<std::string> read_line();

  ChildProcess process_;
  UniqueFd input_;
  UniqueFd output_;
  std::string rest_;
  int last_ = 0;
};

}  // namespace nutshell::bench
