// PostgreSQL's client library, loaded when a store is in PostgreSQL. So the daemon starts on
// machines without it, and contains no copy: Debian has no archives of the libraries that libpq
// needs. The types and numbers are libpq's own; they have been the same since PostgreSQL 9.
#pragma once

#include "base/result.h"

namespace nutshell::service {

struct PgConnection;  // PGconn
struct PgResult;      // PGresult

// Functions of libpq, without the prefix PQ.
struct Libpq {
  // Loads the library once; it stays until the process ends. Unsupported if the machine lacks it.
  static Result<const Libpq*> load();

  PgConnection* (*connect_start_params)(const char* const* keywords, const char* const* values,
                                        int expand_dbname) = nullptr;
  int (*connect_poll)(PgConnection*) = nullptr;
  void (*finish)(PgConnection*) = nullptr;
  int (*status)(const PgConnection*) = nullptr;
  int (*socket)(const PgConnection*) = nullptr;
  char* (*error_message)(const PgConnection*) = nullptr;
  int (*set_nonblocking)(PgConnection*, int) = nullptr;
  void* (*set_notice_processor)(PgConnection*, void (*)(void*, const char*), void*) = nullptr;
  int (*send_prepare)(PgConnection*, const char* name, const char* sql, int count,
                      const unsigned* types) = nullptr;
  int (*send_query_prepared)(PgConnection*, const char* name, int count, const char* const* values,
                             const int* lengths, const int* formats, int result_format) = nullptr;
  int (*send_query_params)(PgConnection*, const char* sql, int count, const unsigned* types,
                           const char* const* values, const int* lengths, const int* formats,
                           int result_format) = nullptr;
  int (*flush)(PgConnection*) = nullptr;
  int (*consume_input)(PgConnection*) = nullptr;
  int (*is_busy)(PgConnection*) = nullptr;
  PgResult* (*get_result)(PgConnection*) = nullptr;
  void (*clear)(PgResult*) = nullptr;
  int (*result_status)(const PgResult*) = nullptr;
  char* (*result_error_field)(const PgResult*, int field) = nullptr;
  int (*count_rows)(const PgResult*) = nullptr;
  char* (*value)(const PgResult*, int row, int column) = nullptr;
  int (*length)(const PgResult*, int row, int column) = nullptr;
  char* (*changed_rows)(PgResult*) = nullptr;

  void* library = nullptr;
};

// Results of connect_poll, status and result_status, and fields of errors.
inline constexpr int kPgPollingFailed = 0;
inline constexpr int kPgPollingReading = 1;
inline constexpr int kPgPollingWriting = 2;
inline constexpr int kPgPollingOk = 3;
inline constexpr int kPgConnectionOk = 0;
inline constexpr int kPgCommandOk = 1;
inline constexpr int kPgTuplesOk = 2;
inline constexpr int kPgFieldState = 'C';
inline constexpr int kPgFieldMessage = 'M';

}  // namespace nutshell::service
