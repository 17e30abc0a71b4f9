// A renderer from a TOML file: the commands and outputs it is for, and the lines it keeps, drops,
// replaces, groups and counts. It is used only if its own tests pass. It cannot change the status
// line, the search for lost error lines or the budget.
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
  // `file` is named in errors. Fails if the text is not a valid renderer or one of its tests fails.
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
