#include "server/http/requests.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_form.h"

namespace nutshell::server {
namespace {

Failure host_file_refused(std::string_view name) {
  return failure(ErrorCode::PermissionDenied,
                 fmt::format("{} names files of the host, which only callers on the daemon's own "
                             "socket may do",
                             name));
}

// Finds the first given field that only callers on the daemon's own socket may set.
class HostFileSearch {
 public:
  template <typename T>
  void operator()(const FieldInfo& info, const T& member) {
    if constexpr (requires { member.empty(); }) {
      if (found_.empty() && info.set_by == SetBy::OwnSocket && !member.empty()) found_ = info.name;
    }
  }
  [[nodiscard]] std::string_view found() const { return found_; }

 private:
  std::string_view found_;
};

Result<> refuse_host_files(const service::Caller& caller, const SandboxSpec& spec) {
  if (caller.host_files == service::HostFiles::Allowed) return {};
  HostFileSearch search;
  SandboxSpec::describe(search, spec);
  if (!search.found().empty()) return host_file_refused(search.found());
  if (spec.image.starts_with('/')) return host_file_refused("image");
  return {};
}

}  // namespace

std::string text_of(const Json& object, const char* key, std::string_view otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string(otherwise);
}

service::TraceLevel trace_of(const Json& object) {
  return from_word<service::TraceLevel>(text_of(object, "trace", "off"))
      .value_or(service::TraceLevel::Off);
}

std::uint64_t number_of(const Json& object, const char* key, std::uint64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::uint64_t>()
                                                             : otherwise;
}

bool is_true(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() ? found->get<std::vector<std::string>>()
                               : std::vector<std::string>();
}

std::map<std::string, std::string> map_of(const Json& object, const char* key) {
  std::map<std::string, std::string> map;
  if (!object.contains(key)) return map;
  for (const auto& [name, value] : object[key].items())
    map[name] = value.get<std::string>();
  return map;
}

Result<std::vector<std::string>> environment_of(const Json& object) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : map_of(object, "environment")) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("'{}' cannot be the name of a variable", name));
    }
    environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

std::chrono::milliseconds time_of(const Json& object, const char* key,
                                  std::chrono::milliseconds otherwise) {
  return std::chrono::milliseconds(
      number_of(object, key, static_cast<std::uint64_t>(otherwise.count())));
}

Result<Limits> limits_of(const Json& object, Limits limits) {
  if (object.contains("limits")) TRY(read_json(object["limits"], limits));
  TRY(check_limits(limits));
  return limits;
}

Result<SandboxSpec> spec_of(const Json& object, const service::Caller& caller) {
  SandboxSpec spec;
  TRY(read_json(object, spec));
  TRY(refuse_host_files(caller, spec));
  TRY(check_spec(spec));
  return spec;
}

Result<ExecRequest> exec_of(const Json& object) {
  ExecRequest request;
  TRY(read_json(object, request));
  if (request.argv.empty() || request.argv.front().empty()) {
    return failure(ErrorCode::InvalidArgument,
                   R"(argv has no command: give it with its arguments, as in ["ls", "-l"])");
  }
  if (object.contains("stdin")) request.standard_input = StandardInput::Streamed;
  TRY(check_exec(request));
  return request;
}

Result<service::SessionRequest> session_of(const Json& object, const service::Caller& caller) {
  service::SessionRequest request;
  TRY(read_json(object, request));
  TRY(refuse_host_files(caller, request.spec));
  TRY(check_spec(request.spec));
  return request;
}

Result<service::AcquireRequest> acquire_of(const Json& object, const service::Caller& caller,
                                           const Limits& of_pool) {
  service::AcquireRequest request;
  request.labels = map_of(object, "labels");
  if (object.contains("ttl_ms")) request.ttl = time_of(object, "ttl_ms", {});
  if (object.contains("idle_timeout_ms")) {
    request.idle_timeout = time_of(object, "idle_timeout_ms", {});
  }
  request.environment = TRY(environment_of(object));
  request.workspace = text_of(object, "workspace");
  request.network = text_of(object, "network");
  request.wait = time_of(object, "wait_ms", request.wait);
  if (object.contains("limits")) request.limits = TRY(limits_of(object, of_pool));
  SandboxSpec bound;
  bound.workspace = request.workspace;
  TRY(refuse_host_files(caller, bound));
  TRY(check_environment(request.environment));
  return request;
}

Result<service::BatchRequest> batch_of(const Json& object, const service::Caller& caller) {
  constexpr std::size_t kMostItems = 10'000;
  service::BatchRequest request;
  request.spec = TRY(spec_of(object.contains("spec") ? object["spec"] : Json::object(), caller));
  request.parallel = number_of(object, "parallel", request.parallel);
  request.output_bytes = number_of(object, "output_bytes", request.output_bytes);
  if (object["items"].size() > kMostItems) {
    return failure(ErrorCode::InvalidArgument, fmt::format("more than {} items", kMostItems));
  }
  for (const Json& one : object["items"]) {
    service::BatchItem item;
    item.request = TRY(exec_of(one));
    for (const auto& [path, content] : map_of(one, "files"))
      item.files.emplace_back(path, content);
    request.items.push_back(std::move(item));
  }
  return request;
}

}  // namespace nutshell::server
