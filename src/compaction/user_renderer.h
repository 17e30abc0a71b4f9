// A renderer in a TOML file: which commands and outputs it is for, which lines it keeps, drops,
// replaces, groups and counts. Its own tests must pass before it is used, and the engine stays in
// charge: status line, lost error lines and the budget are not the file's business.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compaction/facts.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

class UserRenderer {
 public:
  // `file` is named in errors. Fails when the text is no renderer or one of its tests does not
  // pass.
  static Result<UserRenderer> parse(std::string_view toml, std::string_view file);

  UserRenderer(UserRenderer&& other) noexcept;
  UserRenderer& operator=(UserRenderer&& other) noexcept;
  ~UserRenderer();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] bool matches(const ParserInput& input) const;
  [[nodiscard]] Facts apply(const ParserInput& input) const;

 private:
  struct Rules;
  explicit UserRenderer(std::unique_ptr<const Rules> rules);

  std::unique_ptr<const Rules> rules_;
};

}  // namespace nutshell::compaction
