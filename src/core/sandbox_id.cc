#include "core/sandbox_id.h"

#include "base/random_id.h"

namespace nutshell {

std::string new_sandbox_id(char backend_letter) {
  return backend_letter + random_id(kSandboxIdLength - 1);
}

bool is_sandbox_id_beginning(std::string_view text) {
  constexpr std::size_t kLeast = 3;
  return text.size() >= kLeast && text.size() <= kSandboxIdLength && text.front() >= 'a' &&
         text.front() <= 'z' &&
         text.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

bool is_sandbox_id(std::string_view text) {
  return text.size() == kSandboxIdLength && is_sandbox_id_beginning(text);
}

}  // namespace nutshell
