#include "service/state/libpq.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace nutshell::service {
namespace {

template <typename Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<Libpq> load_library() {
  Libpq all;
  all.library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (all.library == nullptr) {
    return failure(
        ErrorCode::Unsupported,
        fmt::format("a store in PostgreSQL needs its client library: install libpq5 ({})",
                    ::dlerror()));
  }
  void* const library = all.library;
  const bool is_whole =
      bind(library, "PQconnectStartParams", all.connect_start_params) &&
      bind(library, "PQconnectPoll", all.connect_poll) && bind(library, "PQfinish", all.finish) &&
      bind(library, "PQstatus", all.status) && bind(library, "PQsocket", all.socket) &&
      bind(library, "PQerrorMessage", all.error_message) &&
      bind(library, "PQsetnonblocking", all.set_nonblocking) &&
      bind(library, "PQsetNoticeProcessor", all.set_notice_processor) &&
      bind(library, "PQsendPrepare", all.send_prepare) &&
      bind(library, "PQsendQueryPrepared", all.send_query_prepared) &&
      bind(library, "PQsendQueryParams", all.send_query_params) &&
      bind(library, "PQflush", all.flush) && bind(library, "PQconsumeInput", all.consume_input) &&
      bind(library, "PQisBusy", all.is_busy) && bind(library, "PQgetResult", all.get_result) &&
      bind(library, "PQclear", all.clear) && bind(library, "PQresultStatus", all.result_status) &&
      bind(library, "PQresultErrorField", all.result_error_field) &&
      bind(library, "PQntuples", all.count_rows) && bind(library, "PQgetvalue", all.value) &&
      bind(library, "PQgetlength", all.length) && bind(library, "PQcmdTuples", all.changed_rows);
  if (is_whole) return all;
  return failure(ErrorCode::Unsupported, "libpq.so.5 of this machine lacks functions of libpq");
}

}  // namespace

Result<const Libpq*> Libpq::load() {
  static const Result<Libpq> kLoaded = load_library();
  if (!kLoaded) return Failure(kLoaded.error());
  return &*kLoaded;
}

}  // namespace nutshell::service
