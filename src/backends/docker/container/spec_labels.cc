#include "backends/docker/container/spec_labels.h"

#include <fmt/format.h>

#include <charconv>

#include "base/file.h"
#include "base/sha256.h"
#include "base/user_directory.h"
#include "core/json_form.h"

namespace nutshell::docker {
namespace {

constexpr const char* kSpecLabel = "nutshell.spec";
constexpr const char* kExpiresLabel = "nutshell.expires";

std::string find_label(const Labels& labels, const char* name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

}  // namespace

std::string container_path(const std::string& id, std::string_view rest) {
  return fmt::format("/containers/{}{}", container_name(id), rest);
}

Labels to_labels(const Remembered& remembered) {
  SandboxSpec spec = remembered.spec;
  spec.environment.clear();  // everybody who may use the engine can read labels
  return {{kIdLabel, remembered.id},
          {kScopeLabel, remembered.scope},
          {kExpiresLabel, std::to_string(remembered.expires_at.count())},
          {kSpecLabel, to_json_text(spec, Written::Kept)}};
}

Result<Remembered> from_labels(const Labels& labels) {
  Remembered remembered;
  remembered.id = find_label(labels, kIdLabel);
  remembered.scope = find_label(labels, kScopeLabel);
  auto spec = from_json_text<SandboxSpec>(find_label(labels, kSpecLabel));
  const std::string expires = find_label(labels, kExpiresLabel);
  std::int64_t moment = 0;
  std::from_chars(expires.data(), expires.data() + expires.size(), moment);
  if (remembered.id.empty() || !spec || moment <= 0)
    return failure(ErrorCode::NotFound, "the container is not a sandbox");
  remembered.spec = std::move(*spec);
  remembered.expires_at = std::chrono::milliseconds(moment);
  return remembered;
}

Result<std::string> scope_of_this_user() {
  constexpr std::size_t kScopeLength = 16;
  const std::string directory = TRY(open_user_directory()).native();
  const auto machine = read_file("/etc/machine-id", 4096);
  return sha256_hex(machine.value_or("") + directory).substr(0, kScopeLength);
}

}  // namespace nutshell::docker
