#include "daemon/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "base/byte_size.h"
#include "base/closest_word.h"
#include "base/file.h"
#include "base/toml_text.h"
#include "core/text_form.h"

namespace nutshell::daemon {
namespace {

const std::vector<std::string>& list_names() {
  static const std::vector<std::string> kNames = {"tokens", "certificates", "pools", "quotas"};
  return kNames;
}

// A number of bytes, or a text such as "512m".
Result<std::uint64_t> bytes_of(const toml::node& node) {
  if (node.is_string()) return parse_byte_size(**node.as_string());
  if (node.is_integer() && **node.as_integer() >= 0)
    return static_cast<std::uint64_t>(**node.as_integer());
  return failure(ErrorCode::InvalidArgument,
                 "must be a whole number of bytes, not below 0, or a text such as \"512m\"");
}

// A number of cores, such as 4 or 0.5, in thousandths.
Result<std::uint64_t> millicpus_of(const toml::node& node) {
  constexpr double kMostCores = 1'000'000;
  const double cores = node.value<double>().value_or(-1);
  if (node.is_number() && cores >= 0 && cores <= kMostCores)
    return static_cast<std::uint64_t>(std::llround(cores * 1000));
  return failure(ErrorCode::InvalidArgument, "must be a number of cores, such as 4 or 0.5");
}

// Reads the fields of one table of a list. A value of the wrong kind is an error.
class Fields {
 public:
  explicit Fields(const toml::table& given) : given_(given) {}

  void take(const char* key, std::string& value) {
    const toml::node* node = given_.get(key);
    if (node == nullptr) return;
    if (!node->is_string()) return say(key, "must be a text");
    value = **node->as_string();
  }
  template <typename Number>
  void take_number(const char* key, Number& value) {
    const toml::node* node = given_.get(key);
    if (node == nullptr) return;
    const std::int64_t number = node->is_integer() ? **node->as_integer() : -1;
    if (number < 0 || static_cast<std::uint64_t>(number) > std::numeric_limits<Number>::max())
      return say(key, "must be a whole number, not below 0");
    value = static_cast<Number>(number);
  }
  void take_bytes(const char* key, std::uint64_t& value) {
    const toml::node* node = given_.get(key);
    if (node == nullptr) return;
    const auto bytes = bytes_of(*node);
    if (!bytes) return say(key, bytes.error().message);
    value = *bytes;
  }
  void take_millicpus(const char* key, std::uint64_t& value) {
    const toml::node* node = given_.get(key);
    if (node == nullptr) return;
    const auto millicpus = millicpus_of(*node);
    if (!millicpus) return say(key, millicpus.error().message);
    value = *millicpus;
  }
  [[nodiscard]] bool has(const char* key) const { return given_.contains(key); }
  void take(const char* key, std::vector<std::string>& values) {
    const toml::node* node = given_.get(key);
    if (node == nullptr) return;
    if (!node->is_array()) return say(key, "must be a list of texts");
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_string()) return say(key, "must be a list of texts");
      values.push_back(**item.as_string());
    }
  }

  // The first error; empty if there is none.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void say(const char* key, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", key, what);
  }
  const toml::table& given_;
  std::string problem_;
};

std::string hint_for(const std::string& key, const std::vector<std::string>& known) {
  const std::string best = closest_word(key, known);
  if (best.empty()) return fmt::format("unknown key '{}'", key);
  return fmt::format("unknown key '{}': did you mean '{}'?", key, best);
}

// Reads a noun, and the nouns in it, from a table whose keys are the setting names of its fields.
// Leaves out fields that name files of the host: pools have none.
class NounReader {
 public:
  explicit NounReader(const toml::table& given) : given_(given) {}

  template <typename T>
  void operator()(const FieldInfo& info, T& member) {
    if constexpr (Noun<T>) {
      T::describe(*this, member);
    } else if constexpr (requires { take(info, *given_.get(""), member); }) {
      if (info.set_by != SetBy::Anybody) return;
      const std::string key = setting_name(info);
      keys_.push_back(key);
      const toml::node* node = given_.get(key);
      if (node == nullptr || !problem_.empty()) return;
      auto taken = take(info, *node, member);
      if (!taken) problem_ = fmt::format("{}: {}", key, taken.error().message);
    }
  }
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  static Failure must_be(std::string_view what) {
    return failure(ErrorCode::InvalidArgument, fmt::format("must be {}", what));
  }
  static Result<> take(const FieldInfo& /*info*/, const toml::node& node, std::string& member) {
    if (!node.is_string()) return must_be("a text");
    member = **node.as_string();
    return {};
  }
  // Sizes and times are texts with a unit too: "512m", "1h". Plain numbers are bytes and seconds.
  template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) ||
      std::is_same_v<T, std::chrono::milliseconds> static Result<> take(const FieldInfo& info,
                                                                        const toml::node& node,
                                                                        T& member) {
    const bool has_units = info.format != Format::Plain || !std::is_integral_v<T>;
    if (node.is_integer()) return read_text(info, std::to_string(**node.as_integer()), member);
    if (node.is_floating_point() && info.format == Format::Cores)
      return read_text(info, fmt::format("{}", **node.as_floating_point()), member);
    if (node.is_string() && has_units) return read_text(info, **node.as_string(), member);
    return must_be(has_units ? "a whole number, or a text with a unit" : "a whole number");
  }
  template <typename T>
  requires std::is_same_v<T, std::vector<std::string>> ||
      std::is_same_v<T, std::vector<Requirement>>
  static Result<> take(const FieldInfo& info, const toml::node& node, T& member) {
    if (!node.is_array()) return must_be("a list of texts");
    for (const toml::node& item : *node.as_array()) {
      if (!item.is_string()) return must_be("a list of texts");
      TRY(read_text(info, **item.as_string(), member));
    }
    return {};
  }

  const toml::table& given_;
  std::vector<std::string> keys_;
  std::string problem_;
};

std::vector<Known> settings_of_the_daemon() {
  using enum Known::Kind;
  return {
      {"socket.path", Text, "", "Unix socket; empty: nutshelld.sock in the runtime directory"},
      {"tcp.address", Text, "127.0.0.1", "address to listen on, if tcp.port is set"},
      {"tcp.port", Number, "0", "port to listen on; 0: no TCP"},
      {"tcp.certificate", Text, "",
       "PEM file of the certificate chain; with tcp.key it turns TLS on"},
      {"tcp.key", Text, "", "PEM file of the certificate's key"},
      {"tcp.client_authority", Text, "",
       "PEM file; clients must have a certificate that this authority signed"},
      {"tcp.unsafe_plain", Truth, "false", "accept tokens without TLS beyond this machine"},
      {"tcp.hosts", Texts, "", "host names of this daemon, besides localhost"},
      {"tcp.origins", Texts, "", "origins of web pages that may call"},
      {"grpc.socket", Text, "", "Unix socket for gRPC; empty: no socket"},
      {"grpc.port", Number, "0",
       "port for gRPC, at tcp.address with tcp's certificates; 0: no port"},
      {"roche.port", Number, "0",
       "port on 127.0.0.1 for Roche's clients, of this user and root only, without tokens; 0: "
       "none"},
      {"roche.discovery", Text, "",
       "file that tells them the port; empty: .roche/daemon.json in the user's home"},
      {"roche.docker", Text, "auto",
       "backend of Roche's provider docker: docker, native, or auto, which is native if no engine "
       "answers"},
      {"roche.images", Texts, "",
       "what names of images stand for outside container engines, as in \"python:3.12-slim=host\""},
      {"state.directory", Text, "",
       "directory of the state; empty: nutshell in the user's state directory"},
      {"state.key_file", Text, "",
       "file of the key that encrypts secrets in the state file; empty: state.key beside it"},
      {"audit.durability", Text, "group", "when a record is on the disk: kernel, group or each"},
      {"audit.tenant_bytes", Number, "268435456", "room for the record of each tenant"},
      {"audit.secret_names", Texts, "", "names of variables whose values are secrets"},
      {"otlp.endpoint", Text, "", "http(s)://HOST:PORT of a collector of spans; empty: no spans"},
      {"otlp.headers_file", Text, "",
       "file of lines \"Name: value\", sent to the collector with each request"},
      {"otlp.authority", Text, "", "PEM file of the authority for https; empty: the system's"},
      {"machine.memory_overcommit", Number, "800",
       "percent of the memory that sandboxes may be granted together"},
      {"machine.cpu_overcommit", Number, "6400",
       "percent of the cores that sandboxes may be granted together"},
      {"machine.disk_overcommit", Number, "400",
       "percent of the state directory's disk, or of the memory if that is more"},
      {"machine.process_overcommit", Number, "90",
       "percent of the process ids that sandboxes may be granted together"}};
}

std::vector<Known> settings_of_its_callers() {
  using enum Known::Kind;
  return {
      {"allow.backends", Texts, "", "backends that tenants may name; empty: all"},
      {"allow.runtimes", Texts, "",
       "runtimes of container engines that tenants may name; empty: all"},
      {"allow.images", Texts, "",
       "patterns of images that tenants may name, such as \"python:*\"; empty: all"},
      {"allow.registries", Texts, "",
       "registries of these images, such as \"docker.io\"; empty: all"},
      {"limits.collected_output_bytes", Bytes, "67108864",
       "output of one command that is held in memory for its answer"},
      {"limits.spool_bytes", Bytes, "268435456",
       "output of one detached or streamed command, on disk"},
      {"limits.recall_bytes", Bytes, "67108864",
       "whole outputs of tool calls, of one sandbox; its disk limit bounds them too"},
      {"limits.connections", Number, "4096", "connections of each listener"},
      {"limits.connections_of_tenant", Number, "0",
       "connections of one tenant on one listener; 0: a quarter of all"},
      {"limits.connections_of_address", Number, "0",
       "connections of one address without a valid token; 0: an eighth of all"},
      {"limits.workers", Number, "512", "requests that run at the same time"},
      {"limits.workers_of_tenant", Number, "0",
       "requests of one tenant at the same time; 0: a quarter of all"},
      {"limits.body_bytes", Number, "268435456", "memory for all request bodies together"},
      {"limits.body_bytes_of_tenant", Number, "0",
       "memory for the request bodies of one tenant; 0: a quarter of all"},
      {"limits.longest_life_seconds", Number, "86400",
       "longest life of a sandbox, extensions included"},
      {"mcp.enabled", Truth, "true", "serve the tools at /mcp"},
      {"mcp.tools", Texts, "", "names of the tools to offer; empty: all"},
      {"mcp.profile", Text, "full", "full, or readonly: only tools that change nothing"},
      {"mcp.tool_prefix", Text, "sandbox_", "prefix of every tool's name"},
      {"mcp.multi", Truth, "false", "calls may name a sandbox, and tools make and end sandboxes"},
      {"mcp.structured", Truth, "false", "add structured content to results"},
      {"mcp.backend", Text, "", "backend of a client's sandbox; empty: native"},
      {"mcp.image", Text, "", "image of a client's sandbox; empty: the backend's default"},
      {"mcp.memory", Text, "2g", "memory of a client's sandbox"},
      {"mcp.disk", Text, "2g", "disk of a client's sandbox"},
      {"mcp.processes", Number, "512", "processes of a client's sandbox"},
      {"mcp.cpus", Text, "2", "cores of a client's sandbox"},
      {"mcp.lease_seconds", Number, "86400",
       "time without a call after which a client's sandbox ends"},
      {"mcp.sessions", Number, "256", "MCP sessions of one token at the same time"},
      {"mcp.resource_url", Text, "",
       "URL at which clients reach /mcp, for the metadata of RFC 9728"},
      {"mcp.authorization_servers", Texts, "",
       "URLs of servers that issue tokens; empty: no metadata"},
      {"drain_seconds", Number, "30", "time that running requests have after SIGTERM"},
      {"log.requests", Truth, "true", "log one line for each request"}};
}

}  // namespace

struct ConfigReader::Toml {
  const toml::node& node;
};

const std::vector<Known>& known_settings() {
  using enum Known::Kind;
  static const std::vector<Known> kAll = [] {
    std::vector<Known> together = settings_of_the_daemon();
    const std::vector<Known> others = settings_of_its_callers();
    together.insert(together.end(), others.begin(), others.end());
    for (const service::ResourceInfo& info : service::resources()) {
      const bool is_bytes = std::string_view(info.name).ends_with("_bytes");
      const bool is_cores = info.resource == service::Resource::Millicpus;
      together.push_back({std::string("quota.") + info.name,
                          is_bytes   ? Bytes
                          : is_cores ? Cores
                                     : Number,
                          "", fmt::format("of each tenant: {}; empty: by the machine", info.help)});
    }
    return together;
  }();
  return kAll;
}

Failure ConfigReader::wrong(const Toml& node, std::string_view what) const {
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("{}:{}: {}", file_.native(), node.node.source().begin.line, what));
}

Result<> ConfigReader::read() {
  const std::string text = TRY(read_file(file_));
  if (const auto sound = check_toml_text(text); !sound) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("{}:{}", file_.native(), sound.error().message));
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("{}:{}: {}", file_.native(), parsed.error().source().begin.line,
                               parsed.error().description()));
  }
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    if (node.is_table()) {
      TRY(take_section(name, {node}));
    } else if (node.is_array_of_tables()) {
      TRY(take_list(name, {node}));
    } else {
      TRY(take_value(name, {node}));
    }
  }
  return {};
}

Result<> ConfigReader::take_section(const std::string& section, const Toml& table) {
  for (const auto& [key, node] : *table.node.as_table())
    TRY(take_value(section + "." + std::string(key.str()), {node}));
  return {};
}

Result<> ConfigReader::take_value(const std::string& key, const Toml& node) {
  std::vector<std::string> names = list_names();
  for (const Known& known : known_settings()) {
    names.push_back(known.key);
    if (known.key != key) continue;
    std::string value;
    bool fits = false;
    if (known.kind == Known::Kind::Text && (fits = node.node.is_string())) {
      value = **node.node.as_string();
    } else if (known.kind == Known::Kind::Truth && (fits = node.node.is_boolean())) {
      value = **node.node.as_boolean() ? "true" : "false";
    } else if (known.kind == Known::Kind::Number && node.node.is_integer()) {
      fits = **node.node.as_integer() >= 0;
      value = std::to_string(**node.node.as_integer());
    } else if (known.kind == Known::Kind::Bytes) {
      const auto bytes = bytes_of(node.node);
      fits = bytes.has_value();
      value = std::to_string(bytes.value_or(0));
    } else if (known.kind == Known::Kind::Cores) {
      const auto millicpus = millicpus_of(node.node);
      fits = millicpus.has_value();
      value = service::amount_text(service::Resource::Millicpus, millicpus.value_or(0));
    } else if (known.kind == Known::Kind::Texts && (fits = node.node.is_array())) {
      for (const toml::node& item : *node.node.as_array()) {
        if (!item.is_string()) return wrong(node, fmt::format("{} must be a list of texts", key));
        value += (value.empty() ? "" : "\n") + **item.as_string();
      }
    }
    if (!fits) return wrong(node, fmt::format("{} has a value of the wrong kind", key));
    config_.settings_[key] = {value,
                              fmt::format("{}:{}", file_.native(), node.node.source().begin.line)};
    return {};
  }
  return wrong(node, hint_for(key, names));
}

Result<> ConfigReader::take_list(const std::string& name, const Toml& list) {
  for (const toml::node& item : *list.node.as_array()) {
    const Toml table{item};
    if (name == "tokens") {
      TRY(take_token(table));
    } else if (name == "certificates") {
      TRY(take_certificate(table));
    } else if (name == "pools") {
      TRY(take_pool(table));
    } else if (name == "quotas") {
      TRY(take_quota(table));
    } else {
      return wrong(table, hint_for(name, list_names()));
    }
  }
  return {};
}

Result<> ConfigReader::check_keys(const Toml& table, const std::vector<std::string>& keys,
                                  std::string_view where) {
  for (const auto& [key, node] : *table.node.as_table()) {
    const std::string name(key.str());
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) continue;
    return wrong({node}, fmt::format("{}: {}", where, hint_for(name, keys)));
  }
  return {};
}

Result<> ConfigReader::take_token(const Toml& table) {
  TRY(check_keys(table, {"name", "tenant", "sha256"}, "tokens"));
  server::Token token;
  Fields fields(*table.node.as_table());
  fields.take("name", token.name);
  fields.take("tenant", token.tenant);
  fields.take("sha256", token.sha256);
  const bool is_hash = token.sha256.size() == 64 &&
                       token.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (token.name.empty() || token.tenant.empty() || !is_hash) {
    return wrong(table,
                 "a token has a name, a tenant and the SHA-256 of its text (printf %s TOKEN | "
                 "sha256sum)");
  }
  config_.tokens.push_back(std::move(token));
  return {};
}

Result<> ConfigReader::take_certificate(const Toml& table) {
  TRY(check_keys(table, {"name", "tenant"}, "certificates"));
  std::string name;
  std::string tenant;
  Fields fields(*table.node.as_table());
  fields.take("name", name);
  fields.take("tenant", tenant);
  if (name.empty() || tenant.empty()) return wrong(table, "a certificate has a name and a tenant");
  config_.certificates[name] = tenant;
  return {};
}

Result<> ConfigReader::take_quota(const Toml& table) {
  std::vector<std::string> keys = {"tenant", "backends", "runtimes", "images", "registries"};
  for (const service::ResourceInfo& info : service::resources())
    keys.emplace_back(info.name);
  TRY(check_keys(table, keys, "quotas"));
  std::string tenant;
  Config::TenantQuota quota;
  Fields fields(*table.node.as_table());
  fields.take("tenant", tenant);
  for (const service::ResourceInfo& info : service::resources()) {
    if (!fields.has(info.name)) continue;
    std::uint64_t most = 0;
    if (std::string_view(info.name).ends_with("_bytes")) {
      fields.take_bytes(info.name, most);
    } else if (info.resource == service::Resource::Millicpus) {
      fields.take_millicpus(info.name, most);
    } else {
      fields.take_number(info.name, most);
    }
    quota.most[info.resource] = most;
  }
  service::Allowed allowed;
  fields.take("backends", allowed.backends);
  fields.take("runtimes", allowed.runtimes);
  fields.take("images", allowed.images);
  fields.take("registries", allowed.registries);
  const bool has_lists = fields.has("backends") || fields.has("runtimes") || fields.has("images") ||
                         fields.has("registries");
  if (has_lists) quota.allowed = std::move(allowed);
  if (!fields.problem().empty()) return wrong(table, "quotas: " + fields.problem());
  if (tenant.empty()) return wrong(table, "a quota has a tenant");
  config_.quotas[tenant] = std::move(quota);
  return {};
}

Result<> ConfigReader::take_pool(const Toml& table) {
  const toml::table& given = *table.node.as_table();
  service::PoolSpec pool;
  NounReader reader(given);
  service::PoolSpec::describe(reader, pool);
  TRY(check_keys(table, reader.keys(), "pools"));
  if (!reader.problem().empty()) return wrong(table, "pools: " + reader.problem());
  // Omitted bounds follow the given ones.
  if (!given.contains("max_total")) pool.max_total = std::max(pool.max_total, pool.min_idle);
  if (!given.contains("max_total") && given.contains("max_idle"))
    pool.max_total = std::max(pool.max_total, pool.max_idle);
  if (!given.contains("max_idle"))
    pool.max_idle = std::min(std::max(pool.max_idle, pool.min_idle), pool.max_total);
  if (pool.name.empty()) return wrong(table, "a pool has a name");
  if (const auto sound = check_bounds(pool); !sound) return wrong(table, sound.error().message);
  if (const auto sound = check_spec(pool.spec); !sound) return wrong(table, sound.error().message);
  config_.pools.push_back(std::move(pool));
  return {};
}

}  // namespace nutshell::daemon
