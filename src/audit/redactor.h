// Removes secrets from text for the record: values of variables with secret names, and text that
// looks like a token. Immutable, so thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell::audit {

inline constexpr std::string_view kRedacted = "[redacted]";

class Redactor {
 public:
  // `names` are secret besides those that match …_TOKEN, …PASSWORD…, …_KEY and the like.
  explicit Redactor(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  [[nodiscard]] bool is_secret_name(std::string_view name) const;

  // The values of NAME=VALUE pairs with secret names, to be passed to redact().
  [[nodiscard]] std::vector<std::string> secrets_of(
      const std::vector<std::string>& environment) const;

  [[nodiscard]] std::string redact(std::string_view text,
                                   const std::vector<std::string>& secrets = {}) const;
  // Returns a JSON list of the words. Hides the word behind a flag like --password, too.
  [[nodiscard]] std::string redact_list(const std::vector<std::string>& words,
                                        const std::vector<std::string>& secrets = {}) const;

 private:
  [[nodiscard]] std::size_t named_value(std::string_view text, std::size_t word,
                                        std::size_t word_end, std::size_t& end) const;
  std::vector<std::string> names_;
};

}  // namespace nutshell::audit
