// The tables of the store and their versions, one list for SQLite and PostgreSQL.
#pragma once

#include <string>
#include <vector>

namespace nutshell::service {

// Words of the schema that differ.
struct SchemaForms {
  const char* text;    // type of a column of bytes
  const char* number;  // type of a column of 64-bit numbers
  const char*
      arrival;  // declares a column `rowid` that grows with each row; empty if every table has it
};
inline constexpr SchemaForms kSqliteForms{"TEXT", "INTEGER", ""};
inline constexpr SchemaForms kPostgresForms{"BYTEA", "BIGINT",
                                            "rowid BIGINT GENERATED ALWAYS AS IDENTITY, "};

inline constexpr int kSchemaVersion = 2;

// Statements that bring a store of an earlier version to this one. Version 0 is an empty store.
// Tables that exist are left alone, so the statements for the present version may run at every
// start.
std::vector<std::string> migrations(int from, const SchemaForms& forms);

}  // namespace nutshell::service
