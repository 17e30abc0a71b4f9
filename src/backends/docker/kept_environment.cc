#include "backends/docker/kept_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "base/user_directory.h"
#include "wire/codec.h"

namespace nutshell::docker {
namespace {

struct Kept {
  std::vector<std::string> environment;
  void fields(auto& visit) { visit(environment); }
};

Result<std::filesystem::path> file_of(const std::string& id) {
  return TRY(open_user_directory()) / fmt::format("container-{}.environment", id);
}

}  // namespace

Result<> keep_environment(const std::string& id, const std::vector<std::string>& environment) {
  return write_file(TRY(file_of(id)), wire::encode(Kept{environment}), 0600);
}

Result<std::vector<std::string>> kept_environment(const std::string& id) {
  auto bytes = read_file(TRY(file_of(id)));
  if (!bytes) {
    return failure(
        ErrorCode::NotFound,
        fmt::format("the environment of sandbox {} is known only where it was made", id));
  }
  return TRY(wire::decode<Kept>(*bytes)).environment;
}

void forget_environment(const std::string& id) {
  if (const auto file = file_of(id)) ::unlink(file->c_str());
}

}  // namespace nutshell::docker
