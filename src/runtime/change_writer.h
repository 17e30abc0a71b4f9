// Writes changes of one workspace into that of another sandbox; the host's files are not touched.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

class ChangeWriter {
 public:
  // Returns the next part of a file's content; empty at its end.
  using ReadPart = std::function<Result<std::string>(std::size_t most)>;

  explicit ChangeWriter(wire::InitClient& to) : to_(to) {}

  // Changes must come parents before children. `read` is called for regular files only.
  Result<> write(const wire::FileChange& change, const ReadPart& read);

 private:
  Result<> remove(const std::string& path);

  wire::InitClient& to_;
};

}  // namespace nutshell
