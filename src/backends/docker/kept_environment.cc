#include "backends/docker/kept_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/user_directory.h"
#include "wire/codec.h"

namespace nutshell::docker {
namespace {

constexpr std::string_view kBeginning = "container-";
constexpr std::string_view kEnding = ".environment";

Result<std::filesystem::path> file_of(const std::string& id) {
  return TRY(open_user_directory()) / fmt::format("{}{}{}", kBeginning, id, kEnding);
}

}  // namespace

Result<> keep_environment(const std::string& id, const KeptEnvironment& kept) {
  return write_file(TRY(file_of(id)), wire::encode(kept), 0600);
}

Result<std::vector<std::string>> kept_environment(const std::string& id) {
  auto bytes = read_file(TRY(file_of(id)));
  if (!bytes) {
    return failure(
        ErrorCode::NotFound,
        fmt::format("the environment of sandbox {} is known only where it was made", id));
  }
  return TRY(wire::decode<KeptEnvironment>(*bytes)).environment;
}

void forget_environment(const std::string& id) {
  if (const auto file = file_of(id)) ::unlink(file->c_str());
}

std::vector<std::string> ids_with_environments(const std::string& engine) {
  std::vector<std::string> ids;
  const auto directory = open_user_directory();
  if (!directory) return ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*directory, error)) {
    const std::string name = entry.path().filename().native();
    if (!name.starts_with(kBeginning) || !name.ends_with(kEnding)) continue;
    const auto bytes = read_file(entry.path());
    const auto kept = bytes ? wire::decode<KeptEnvironment>(*bytes) : Failure(bytes.error());
    if (!kept || kept->engine != engine) continue;
    ids.push_back(name.substr(kBeginning.size(), name.size() - kBeginning.size() - kEnding.size()));
  }
  return ids;
}

}  // namespace nutshell::docker
