#include "service/sandboxes/sandbox_store.h"

#include "service/sandboxes/spec_text.h"

namespace nutshell::service {
namespace {

Result<> done(Result<std::int64_t> changed) {
  if (!changed) return Failure(std::move(changed).error());
  return {};
}

}  // namespace

Result<> SandboxStore::begin(const SandboxRow& row) {
  return done(database_.run(
      "INSERT INTO sandboxes(op, id, tenant, stage, backend, labels, created_ms, ttl_ms, "
      "deadline_ms, left_ms, idle_ms, session, pool, pool_spec) "
      "VALUES(?,NULL,?,?,?,?,?,?,?,?,?,?,?,?)",
      {row.op, row.tenant, row.stage, row.backend, encode_labels(row.labels), row.created_ms,
       row.ttl_ms, row.deadline_ms, row.left_ms, row.idle_ms, row.session, row.pool,
       row.pool_spec}));
}

Result<> SandboxStore::note_alive(const SandboxRow& row) {
  return done(database_.run("UPDATE sandboxes SET id=?, stage=?, deadline_ms=? WHERE op=?",
                            {row.id, row.stage, row.deadline_ms, row.op}));
}

Result<> SandboxStore::note_clock(const SandboxRow& row) {
  return done(database_.run("UPDATE sandboxes SET ttl_ms=?, deadline_ms=?, left_ms=? WHERE id=?",
                            {row.ttl_ms, row.deadline_ms, row.left_ms, row.id}));
}

Result<> SandboxStore::note_owner(const SandboxRow& row) {
  return done(database_.run(
      "UPDATE sandboxes SET tenant=?, labels=?, ttl_ms=?, deadline_ms=?, idle_ms=? WHERE id=?",
      {row.tenant, encode_labels(row.labels), row.ttl_ms, row.deadline_ms, row.idle_ms, row.id}));
}

Result<> SandboxStore::note_ending(const std::string& id) {
  return done(database_.run("UPDATE sandboxes SET stage=? WHERE id=?", {std::string(kEnding), id}));
}

Result<> SandboxStore::remove(const std::string& op) {
  return done(database_.run("DELETE FROM sandboxes WHERE op=?", {op}));
}

Result<> SandboxStore::remove_id(const std::string& id) {
  return done(database_.run("DELETE FROM sandboxes WHERE id=?", {id}));
}

Result<std::vector<SandboxRow>> SandboxStore::all() {
  std::vector<SandboxRow> rows;
  TRY(database_.query(
      "SELECT op, id, tenant, stage, backend, labels, created_ms, ttl_ms, deadline_ms, left_ms, "
      "idle_ms, session, pool, pool_spec FROM sandboxes",
      {}, [&rows](const Row& found) {
        SandboxRow row;
        row.op = found.text(0);
        row.id = found.text(1);
        row.tenant = found.text(2);
        row.stage = found.text(3);
        row.backend = found.text(4);
        row.labels = decode_labels(found.text(5)).value_or(std::map<std::string, std::string>());
        row.created_ms = found.number(6);
        row.ttl_ms = found.number(7);
        row.deadline_ms = found.number(8);
        row.left_ms = found.number(9);
        row.idle_ms = found.number(10);
        row.session = found.text(11);
        row.pool = found.text(12);
        row.pool_spec = found.text(13);
        rows.push_back(std::move(row));
      }));
  return rows;
}

}  // namespace nutshell::service
