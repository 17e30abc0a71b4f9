#include "service/state/schema.h"

#include <fmt/args.h>
#include <fmt/format.h>

namespace nutshell::service {
namespace {

constexpr const char* kTables[] = {
    "CREATE TABLE IF NOT EXISTS meta(name {text} PRIMARY KEY, value {text} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS sandboxes("
    "op {text} PRIMARY KEY, id {text} UNIQUE, tenant {text} NOT NULL, stage {text} NOT NULL, "
    "backend {text} NOT NULL, labels {text} NOT NULL, created_ms {number} NOT NULL, "
    "ttl_ms {number} NOT NULL, deadline_ms {number} NOT NULL, left_ms {number} NOT NULL, "
    "idle_ms {number} NOT NULL, session {text} NOT NULL, pool {text} NOT NULL, "
    "pool_spec {text} NOT NULL DEFAULT '')",
    "CREATE TABLE IF NOT EXISTS keys("
    "{arrival}tenant {text} NOT NULL, key {text} NOT NULL, request {text} NOT NULL, "
    "target {text} NOT NULL, made_ms {number} NOT NULL, PRIMARY KEY(tenant, key))",
    "CREATE TABLE IF NOT EXISTS sessions("
    "tenant {text} NOT NULL, name {text} NOT NULL, request {text} NOT NULL, stage {text} NOT NULL, "
    "sandbox {text} NOT NULL, life {number} NOT NULL, setup {text} NOT NULL, "
    "execs {number} NOT NULL, cpu_us {number} NOT NULL, wall_us {number} NOT NULL, "
    "output_bytes {number} NOT NULL, lease_ms {number} NOT NULL, lease_end_ms {number} NOT NULL, "
    "created_ms {number} NOT NULL, PRIMARY KEY(tenant, name))",
    "CREATE TABLE IF NOT EXISTS session_clocks("
    "tenant {text} NOT NULL, name {text} NOT NULL, sandbox {text} NOT NULL, "
    "counted_us {number} NOT NULL, PRIMARY KEY(tenant, name))",
    "CREATE TABLE IF NOT EXISTS execs("
    "exec_id {text} PRIMARY KEY, tenant {text} NOT NULL, sandbox {text} NOT NULL, "
    "session {text} NOT NULL, stage {text} NOT NULL, limits {text} NOT NULL, "
    "begun_id {number} NOT NULL, audit_id {number} NOT NULL, result {text} NOT NULL, "
    "ended_ms {number} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS images("
    "tenant {text} NOT NULL, backend {text} NOT NULL, image {text} NOT NULL, "
    "bytes {number} NOT NULL, PRIMARY KEY(tenant, backend, image))",
};

}  // namespace

std::vector<std::string> migrations(int from, const SchemaForms& forms) {
  std::vector<std::string> statements;
  const auto add = [&](const char* statement) {
    statements.push_back(fmt::format(fmt::runtime(statement), fmt::arg("text", forms.text),
                                     fmt::arg("number", forms.number),
                                     fmt::arg("arrival", forms.arrival)));
  };
  // Version 1 has no pool_spec.
  if (from == 1) add("ALTER TABLE sandboxes ADD COLUMN pool_spec {text} NOT NULL DEFAULT ''");
  for (const char* table : kTables)
    add(table);
  return statements;
}

}  // namespace nutshell::service
