#include "core/sandbox_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/check_network.h"
#include "core/text_form.h"

namespace nutshell {
namespace {

constexpr std::size_t kMostLabels = 64;
constexpr std::size_t kMostEnvironment = 1U << 20U;
constexpr std::size_t kMostRuleBytes = 1024;
constexpr std::string_view kReservedLabelPrefix = "nutshell.";

bool is_label_name(std::string_view name) {
  const auto is_allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
  };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), is_allowed);
}

Result<> check_length(std::string_view text, std::size_t most, std::string_view what) {
  if (text.size() <= most && text.find('\0') == std::string_view::npos) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("{} has more than {} bytes, or a NUL byte", what, most));
}

// The names of protections have no field of their own.
Result<> check_names(const SandboxSpec& spec) {
  for (const Requirement& requirement : spec.requirements)
    TRY(check_length(requirement.protection, kMostNameBytes, "the name of a protection"));
  for (const std::string& name : spec.unsafe_without)
    TRY(check_length(name, kMostNameBytes, "the name of a protection"));
  return {};
}

// The texts in lists have no field of their own; `egress` reads what they say.
Result<> check_network_texts(const NetworkPolicy& network) {
  for (const std::string& rule : network.allow)
    TRY(check_length(rule, kMostRuleBytes, "network: a rule"));
  for (const std::string& cache : network.caches)
    TRY(check_length(cache, kMostNameBytes, "network: the name of a cache"));
  for (const NetworkSecret& secret : network.secrets) {
    for (const std::string& host : secret.hosts)
      TRY(check_length(host, kMostRuleBytes, "network: a host of a secret"));
  }
  return {};
}

// Directories that are mounted or filled in every sandbox.
constexpr std::array<std::string_view, 7> kTaken = {"/var/tmp", "/proc",      "/dev",      "/sys",
                                                    "/tmp",     "/workspace", "/.nutshell"};

bool is_plain_path(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  const std::string whole = std::string(path) + '/';
  return whole.find("//") == std::string::npos && whole.find("/./") == std::string::npos &&
         whole.find("/../") == std::string::npos;
}

Result<> check_mounts(const std::vector<Mount>& mounts) {
  std::set<std::string_view> targets;
  for (const Mount& mount : mounts) {
    if (!is_plain_path(mount.target)) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("mount '{:.200}': it is not an absolute path without '.' and '..'",
                                 mount.target));
    }
    for (const std::string_view taken : kTaken) {
      if (mount.target != taken && !mount.target.starts_with(std::string(taken) + '/')) continue;
      return failure(
          ErrorCode::InvalidArgument,
          fmt::format("mount {:.200}: {} is the sandbox's own; choose another path, or copy the "
                      "files in with --copy or 'nutshell cp'",
                      mount.target, taken));
    }
    if (!targets.insert(mount.target).second) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("mount {:.200}: two mounts have this path", mount.target));
    }
  }
  return {};
}

}  // namespace

bool is_without_directories(const SandboxSpec& spec) {
  return spec.workspace.empty() && spec.unsafe_mounts.empty() && spec.mounts.empty();
}

Result<> check_labels(const std::map<std::string, std::string>& labels) {
  if (labels.size() > kMostLabels) {
    return failure(ErrorCode::InvalidArgument, fmt::format("more than {} labels", kMostLabels));
  }
  for (const auto& [name, value] : labels) {
    if (!is_label_name(name) || value.size() > 256 || value.find('\0') != std::string::npos) {
      return failure(
          ErrorCode::InvalidArgument,
          fmt::format("label '{:.80}' is not NAME=VALUE with a name of letters, digits and "
                      "._-/ (at most 63) and a value of at most 256 bytes",
                      name));
    }
    if (name.starts_with(kReservedLabelPrefix)) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("label '{}': names beginning with {} are reserved", name,
                                 kReservedLabelPrefix));
    }
  }
  return {};
}

Result<> check_environment(const std::vector<std::string>& environment) {
  std::size_t total = 0;
  for (const std::string& variable : environment) {
    total += variable.size() + 1;
    if (total > kMostEnvironment) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("the environment has more than {} bytes: put the data into a file",
                                 kMostEnvironment));
    }
    const std::size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos || variable.find('\0') != std::string::npos) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("environment '{:.80}' is not NAME=VALUE", variable));
    }
  }
  return {};
}

Result<> check_spec(const SandboxSpec& spec) {
  TRY(check_bounds(spec));
  TRY(check_names(spec));
  TRY(check_labels(spec.labels));
  TRY(check_environment(spec.environment));
  TRY(check_mounts(spec.mounts));
  TRY(check_network_texts(spec.network));
  if (spec.keep_caches == KeepCaches::Yes && spec.workspace.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "keep-caches: caches are kept for a project: give its directory with "
                   "--workspace, or leave --keep-caches out");
  }
  TRY(check_network(spec.network));
  if (spec.working_directory.empty() || spec.working_directory.front() != '/') {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("workdir '{:.80}' is not an absolute path inside the sandbox, for "
                               "example /workspace",
                               spec.working_directory));
  }
  return {};
}

Result<std::vector<Requirement>> parse_requirements(std::string_view text) {
  std::vector<Requirement> requirements;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view strength = word.substr(std::min(equals + 1, word.size()));
    const bool is_bad = equals == 0 || word.empty() ||
                        (equals < word.size() && strength != "hard" && strength != "watched");
    if (is_bad) {
      return failure(
          ErrorCode::InvalidArgument,
          fmt::format("requirement '{:.80}' is not a protection's name, or NAME=hard", word));
    }
    requirements.push_back({std::string(word.substr(0, equals)), strength == "hard"});
  }
  return requirements;
}

std::string to_text(const Requirement& requirement) {
  return requirement.protection + (requirement.is_hard ? "=hard" : "");
}

}  // namespace nutshell
