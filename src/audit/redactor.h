// Takes secrets out of what is written down: values of variables whose names say that they are
// secret, and text that looks like a token. Thread-safe: it does not change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell::audit {

inline constexpr std::string_view kRedacted = "[redacted]";

class Redactor {
 public:
  // `names` are secret besides those that look so (…_TOKEN, …PASSWORD…, …_KEY).
  explicit Redactor(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  [[nodiscard]] bool is_secret_name(std::string_view name) const;

  // The values of NAME=VALUE pairs that are secret, to be hidden wherever they turn up.
  [[nodiscard]] std::vector<std::string> secrets_of(
      const std::vector<std::string>& environment) const;

  [[nodiscard]] std::string redact(std::string_view text,
                                   const std::vector<std::string>& secrets = {}) const;
  // A JSON list of the words. The word behind a flag like --password is one too.
  [[nodiscard]] std::string redact_list(const std::vector<std::string>& words,
                                        const std::vector<std::string>& secrets = {}) const;

 private:
  [[nodiscard]] std::size_t named_value(std::string_view text, std::size_t word,
                                        std::size_t word_end, std::size_t& end) const;
  std::vector<std::string> names_;
};

}  // namespace nutshell::audit
