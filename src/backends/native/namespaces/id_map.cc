#include "backends/native/namespaces/id_map.h"

#include <fmt/format.h>

#include "base/file.h"

namespace nutshell::native {

Result<> write_id_map(const std::string& process, const IdMap& map) {
  // An unprivileged process may map a group only after it has denied setgroups().
  TRY(write_value(process + "/setgroups", "deny"));
  TRY(write_value(process + "/uid_map", fmt::format("{} {} 1", map.inside_user, map.outside_user)));
  TRY(write_value(process + "/gid_map",
                  fmt::format("{} {} 1", map.inside_group, map.outside_group)));
  return {};
}

}  // namespace nutshell::native
