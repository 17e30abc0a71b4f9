#include <algorithm>
#include <cstdlib>

#include "entry_points.h"
#include "init/network/name_message.h"

namespace nutshell::fuzz {

// A datagram that a command sends to the name server of its sandbox.
void fuzz_names(std::string_view input) {
  const auto query = init::parse_name_query(input);
  if (!query) return;
  constexpr std::size_t kMostName = 253;
  if (query->is_for_host) {
    const bool is_plain = std::all_of(query->name.begin(), query->name.end(), [](char c) {
      return c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
             (c >= 'A' && c <= 'Z');
    });
    if (!is_plain || query->name.empty() || query->name.size() > kMostName) std::abort();
    if (query->name.find("..") != std::string::npos) std::abort();
  }
  const std::vector<std::string> addresses = {std::string(4, '\1'), std::string(16, '\2')};
  const std::string answer = init::write_name_answer(*query, query->code, 60, addresses);
  if (answer.size() > 512 || answer.substr(0, 2) != input.substr(0, 2)) std::abort();
  if (answer.find(query->question) == std::string::npos) std::abort();
}

}  // namespace nutshell::fuzz
