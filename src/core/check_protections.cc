#include "core/check_protections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nutshell {
namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Protection* find_protection(const Protections& protections, const std::string& name) {
  const auto found = std::find_if(protections.begin(), protections.end(),
                                  [&](const Protection& item) { return item.name == name; });
  return found == protections.end() ? nullptr : &*found;
}

std::string names_of(const Protections& protections) {
  std::string names;
  for (const Protection& protection : protections) {
    names += (names.empty() ? "" : ", ") + protection.name;
  }
  return names;
}

std::string requirement_problem(const Protections& protections, const Requirement& requirement) {
  const Protection* found = find_protection(protections, requirement.protection);
  if (found == nullptr) {
    return fmt::format("--require {}: no such protection; there are {}", requirement.protection,
                       names_of(protections));
  }
  if (found->strength == Strength::Missing) {
    return fmt::format("--require {}: missing here: {}", found->name, found->fix);
  }
  if (requirement.is_hard && found->strength != Strength::Hard) {
    return fmt::format("--require {}=hard: only watched here: {}", found->name, found->fix);
  }
  return {};
}

}  // namespace

Result<> check_protections(const Protections& protections, const SandboxSpec& spec,
                           const ProtectionRules& rules) {
  std::string problems;
  const auto add = [&](const std::string& problem) {
    if (!problem.empty()) problems += (problems.empty() ? "" : "\n") + problem;
  };
  for (const Protection& protection : protections) {
    const bool is_missing = protection.strength == Strength::Missing;
    const bool is_accepted = is_among(spec.unsafe_without, protection.name);
    if (!is_missing || is_among(rules.optional, protection.name) || is_accepted) continue;
    add(fmt::format("{}: cannot be kept here: {}", protection.name, protection.fix));
  }
  for (const Requirement& requirement : spec.requirements) {
    add(requirement_problem(protections, requirement));
  }
  for (const std::string& name : spec.unsafe_without) {
    if (is_among(rules.waivable, name)) continue;
    add(rules.waivable.empty()
            ? fmt::format("--unsafe-without {}: nothing can be waived with this backend", name)
            : fmt::format("--unsafe-without {}: only {} can be waived", name,
                          fmt::join(rules.waivable, ", ")));
  }
  if (problems.empty()) return {};
  return failure(ErrorCode::Unsupported, problems);
}

}  // namespace nutshell
