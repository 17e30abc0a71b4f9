#include "backends/docker/container/seccomp_profile.h"

#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "backends/docker/engine/engine_json.h"
#include "core/json_text.h"

namespace nutshell::docker {
namespace {

struct FilterText {
  std::string_view name;
  std::string_view text;
};
constexpr FilterText kFilters[] = {
#include "system_call_filters.inc"
};

// The flags of clone that make namespaces.
constexpr std::uint64_t kNamespaceFlags = 0x7e020000;

// Adds the calls of a line "allow NAME… [if CONDITION]". Lines with "ignore" answer what a success
// would; init's own filter does that.
void add_calls(const std::string& line, std::set<std::string>& calls) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word != "allow" && word != "allow?" && word != "ignore") return;
  while (words >> word && word != "if" && !word.starts_with('#'))
    calls.insert(word);
}

std::set<std::string> allowed_calls() {
  std::set<std::string> calls;
  for (const FilterText& filter : kFilters) {
    std::istringstream lines{std::string(filter.text)};
    for (std::string line; std::getline(lines, line);)
      add_calls(line, calls);
  }
  return calls;
}

}  // namespace

std::string seccomp_profile() {
  std::set<std::string> calls = allowed_calls();
  calls.erase("clone");
  const Json clone = {{"names", {"clone"}},
                      {"action", "SCMP_ACT_ALLOW"},
                      {"args",
                       {{{"index", 0},
                         {"value", kNamespaceFlags},
                         {"valueTwo", 0},
                         {"op", "SCMP_CMP_MASKED_EQ"}}}}};
  // The C library then uses clone.
  const Json clone3 = {{"names", {"clone3"}}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", ENOSYS}};
  const Json profile = {
      {"defaultAction", "SCMP_ACT_ERRNO"},
      {"syscalls", {{{"names", calls}, {"action", "SCMP_ACT_ALLOW"}}, clone, clone3}}};
  return dump_json(profile);
}

}  // namespace nutshell::docker
