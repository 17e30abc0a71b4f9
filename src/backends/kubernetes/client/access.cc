#include "backends/kubernetes/client/access.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "backends/kubernetes/client/yaml.h"
#include "base/base64.h"
#include "base/environment.h"
#include "base/file.h"
#include "core/json_members.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using Path = std::filesystem::path;

constexpr std::size_t kMostFileBytes = 4U << 20U;

// A member of one of the files. Paths in it are relative to the directory of that file.
struct Entry {
  Json value;
  Path directory;
};

struct File {
  Json document;
  Path directory;
};

Failure invalid(std::string message) {
  return failure(ErrorCode::InvalidArgument, "kubeconfig: " + std::move(message));
}

Result<std::vector<File>> read_files(const std::vector<Path>& paths) {
  std::vector<File> files;
  for (const Path& path : paths) {
    auto text = read_file(path, kMostFileBytes);
    if (!text && text.error().code == ErrorCode::NotFound) continue;  // as kubectl does
    if (!text) return while_doing("read kubeconfig", std::move(text).error());
    auto document = parse_yaml(*text);
    if (!document)
      return while_doing(fmt::format("read kubeconfig {}", path.native()),
                         std::move(document).error());
    if (document->is_null()) continue;
    if (!document->is_object()) return invalid(fmt::format("{} is no map", path.native()));
    files.push_back({std::move(*document), path.parent_path()});
  }
  return files;
}

// The member `kind` of the first item of `list` that has this name.
Result<Entry> find_entry(const std::vector<File>& files, const char* list, const char* kind,
                         const std::string& name) {
  for (const File& file : files) {
    const Json* items = member(file.document, list);
    if (items == nullptr || !items->is_array()) continue;
    for (const Json& item : *items) {
      const Json* value = member(item, kind);
      if (text_of(item, "name") == name && value != nullptr && value->is_object())
        return Entry{*value, file.directory};
    }
  }
  return failure(ErrorCode::NotFound, fmt::format("kubeconfig: there is no {} '{}'", kind, name));
}

bool is_set(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && !value->is_null() && *value != "" && *value != "false";
}

Result<> refuse(const Entry& entry,
                std::initializer_list<std::pair<const char*, const char*>> names) {
  for (const auto& [name, advice] : names) {
    if (is_set(entry.value, name))
      return failure(ErrorCode::Unsupported, fmt::format("kubeconfig: {}: {}", name, advice));
  }
  return {};
}

Path absolute_path(const Entry& entry, const std::string& path) {
  return Path(path).is_absolute() ? Path(path) : entry.directory / path;
}

// Reads NAME-data, which is base64, or the file that NAME names.
Result<std::string> text_or_file(const Entry& entry, const std::string& name) {
  const std::string data = text_of(entry.value, (name + "-data").c_str());
  if (!data.empty()) {
    auto bytes = from_base64(data);
    if (!bytes) return invalid(fmt::format("{}-data is not base64", name));
    return std::move(*bytes);
  }
  const std::string path = text_of(entry.value, name.c_str());
  if (path.empty()) return std::string();
  auto text = read_file(absolute_path(entry, path), kMostFileBytes);
  if (!text) return while_doing(fmt::format("kubeconfig: {}", name), std::move(text).error());
  return text;
}

Result<> read_cluster(const Entry& entry, Access& access) {
  TRY(refuse(entry, {{"insecure-skip-tls-verify",
                      "the server's certificate is always checked: name its authority with "
                      "certificate-authority"},
                     {"proxy-url", "connections through a proxy are not made"}}));
  access.server_url = text_of(entry.value, "server");
  access.server = TRY(parse_server(access.server_url));
  access.server_name = text_of(entry.value, "tls-server-name");
  if (access.server_name.empty()) access.server_name = access.server.host;
  access.authority = TRY(text_or_file(entry, "certificate-authority"));
  return {};
}

Result<CredentialPlugin> read_plugin(const Entry& entry) {
  const Json& exec = entry.value.at("exec");
  CredentialPlugin plugin;
  std::string program = text_of(exec, "command");
  if (program.empty()) return invalid("exec names no command");
  // A name alone is searched in PATH; another relative path begins at the file.
  if (program.find('/') != std::string::npos) program = absolute_path(entry, program).native();
  plugin.command = {std::move(program)};
  for (std::string& argument : texts_of(exec, "args"))
    plugin.command.push_back(std::move(argument));
  plugin.api_version = text_of(exec, "apiVersion");
  const std::string& version = plugin.api_version;
  if (version != "client.authentication.k8s.io/v1" &&
      version != "client.authentication.k8s.io/v1beta1")
    return invalid(fmt::format("exec: apiVersion '{}' is not known", version));
  if (text_of(exec, "interactiveMode") == "Always")
    return failure(ErrorCode::Unsupported,
                   "kubeconfig: exec: interactiveMode Always: the program gets no terminal");
  plugin.install_hint = text_of(exec, "installHint");
  plugin.wants_cluster = is_set(exec, "provideClusterInfo");
  const Json* variables = member(exec, "env");
  if (variables == nullptr || !variables->is_array()) return plugin;
  for (const Json& variable : *variables)
    plugin.environment.emplace_back(text_of(variable, "name"), text_of(variable, "value"));
  return plugin;
}

Result<> read_user(const Entry& entry, Access& access) {
  constexpr const char* kNoPassword = "Kubernetes has no passwords since 1.19: use a token";
  constexpr const char* kNoImpersonation = "nobody is impersonated: use the user's own credentials";
  TRY(refuse(entry, {{"username", kNoPassword},
                     {"password", kNoPassword},
                     {"auth-provider", "Kubernetes has removed it in 1.26: use exec"},
                     {"as", kNoImpersonation},
                     {"as-uid", kNoImpersonation},
                     {"as-groups", kNoImpersonation},
                     {"as-user-extra", kNoImpersonation}}));
  access.certificate = TRY(text_or_file(entry, "client-certificate"));
  access.key = TRY(text_or_file(entry, "client-key"));
  if (access.certificate.empty() != access.key.empty())
    return invalid("client-certificate and client-key belong together");
  const std::string file = text_of(entry.value, "tokenFile");
  if (!file.empty()) access.token_file = absolute_path(entry, file);
  // The file is newer than a token that was written into the kubeconfig.
  if (file.empty()) access.token = text_of(entry.value, "token");
  if (is_set(entry.value, "exec")) access.plugin = TRY(read_plugin(entry));
  return {};
}

}  // namespace

Result<ServerAddress> parse_server(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  const Failure malformed =
      invalid(fmt::format("server '{}' is not https://HOST[:PORT][/PATH]", url.substr(0, 200)));
  if (url.starts_with("http://"))
    return failure(ErrorCode::Unsupported,
                   "kubeconfig: server: without TLS anybody on the way could read the token; "
                   "use https://");
  if (!url.starts_with(kScheme)) return malformed;
  url.remove_prefix(kScheme.size());
  const std::size_t slash = url.find('/');
  std::string_view host = url.substr(0, slash);
  ServerAddress server;
  if (slash != std::string_view::npos) server.prefix = url.substr(slash);
  while (server.prefix.ends_with('/'))
    server.prefix.pop_back();
  if (url.find_first_of(std::string_view("?#@ \t\r\n\0", 8)) != std::string_view::npos)
    return malformed;
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return malformed;
  const std::size_t colon = host.find(':', bracket);
  if (colon != std::string_view::npos) {
    const std::string_view digits = host.substr(colon + 1);
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, server.port);
    if (error != std::errc() || stopped != end || server.port == 0) return malformed;
    host = host.substr(0, colon);
  }
  if (bracket != 0) {
    if (host.size() != bracket + 1) return malformed;
    host = host.substr(1, bracket - 1);
  }
  if (host.empty()) return malformed;
  server.host = host;
  return server;
}

Result<Access> read_kubeconfig(const std::vector<Path>& paths, const std::string& context) {
  const auto files = TRY(read_files(paths));
  std::string name = context;
  for (const File& file : files) {
    if (name.empty()) name = text_of(file.document, "current-context");
  }
  if (name.empty())
    return failure(ErrorCode::NotFound,
                   "kubeconfig: no context is chosen, and there is no current-context");
  const Entry chosen = TRY(find_entry(files, "contexts", "context", name));
  Access access;
  access.context = name;
  if (const std::string space = text_of(chosen.value, "namespace"); !space.empty())
    access.name_space = space;
  TRY(read_cluster(TRY(find_entry(files, "clusters", "cluster", text_of(chosen.value, "cluster"))),
                   access));
  const std::string user = text_of(chosen.value, "user");
  if (!user.empty()) TRY(read_user(TRY(find_entry(files, "users", "user", user)), access));
  return access;
}

Result<Access> read_service_account(const InCluster& place) {
  const bool is_ipv6 = place.host.find(':') != std::string::npos;
  Access access;
  access.context = "in-cluster";
  access.server_url = is_ipv6 ? fmt::format("https://[{}]:{}", place.host, place.port)
                              : fmt::format("https://{}:{}", place.host, place.port);
  access.server = TRY(parse_server(access.server_url));
  access.server_name = place.host;
  access.authority = TRY(read_file(place.account / "ca.crt", kMostFileBytes));
  access.token_file = place.account / "token";
  auto space = read_file(place.account / "namespace", 4096);
  if (space) {
    while (space->ends_with('\n'))
      space->pop_back();
    access.name_space = *space;
  }
  return access;
}

Result<Access> find_access(const std::string& context) {
  std::vector<Path> files;
  std::string list = environment_variable("KUBECONFIG");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) files.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!files.empty()) return read_kubeconfig(files, context);
  const Path home = environment_path("HOME");
  const Path usual = home / ".kube" / "config";
  std::error_code ignored;
  if (!home.empty() && std::filesystem::exists(usual, ignored))
    return read_kubeconfig({usual}, context);
  const InCluster place{environment_variable("KUBERNETES_SERVICE_HOST"),
                        environment_variable("KUBERNETES_SERVICE_PORT")};
  if (!place.host.empty() && context.empty()) return read_service_account(place);
  return failure(ErrorCode::NotFound,
                 "No cluster is known: $KUBECONFIG is not set, there is no ~/.kube/config, and "
                 "this is no pod with a service account.");
}

}  // namespace nutshell::kubernetes
