#include "service/evidence.h"

#include <algorithm>
#include <map>

#include "audit/reader.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kMostRecords = 1000;
constexpr std::size_t kMostHistory = 10'000;

HistoryEntry begun(const audit::Record& record) {
  HistoryEntry entry;
  entry.audit_id = record.id;
  entry.when = std::chrono::system_clock::time_point(std::chrono::microseconds(record.time_us));
  entry.who = record.entry.who;
  entry.action = record.entry.action;
  entry.what = record.entry.arguments;
  entry.outcome = "unknown";
  return entry;
}

void finish(HistoryEntry& entry, const audit::Record& record) {
  entry.audit_id = record.id;
  entry.outcome = record.entry.outcome;
  entry.duration = std::chrono::duration_cast<std::chrono::milliseconds>(record.entry.duration);
  entry.output_bytes = record.entry.output_bytes;
}

}  // namespace

Result<std::vector<audit::Record>> Evidence::records(const Caller& caller,
                                                     const audit::Filter& filter) {
  audit::Filter own = filter;
  own.tenant = caller.tenant;
  own.most = std::clamp<std::size_t>(filter.most, 1, kMostRecords);
  return audit::read_records(operations_.directory_of(caller.tenant), own);
}

Result<std::vector<HistoryEntry>> Evidence::history(const Caller& caller, const std::string& id) {
  const auto ref = table_.find(caller.tenant, id);
  audit::Filter filter;
  filter.tenant = caller.tenant;
  filter.sandbox = ref ? ref->id : id;
  filter.most = kMostHistory;
  std::map<std::uint64_t, HistoryEntry> entries;  // by the id of the first record
  TRY(audit::for_each_record(operations_.directory_of(caller.tenant), filter,
                             [&entries](const audit::Record& record) -> Result<audit::Visit> {
                               if (!record.entry.is_command()) return audit::Visit::GoOn;
                               const auto known = entries.find(record.entry.of);
                               if (record.entry.outcome == "begun") {
                                 entries.emplace(record.id, begun(record));
                               } else if (known != entries.end()) {
                                 finish(known->second, record);
                               }
                               return audit::Visit::GoOn;
                             }));
  if (entries.empty() && !ref) return Failure(ref.error());
  std::vector<HistoryEntry> all;
  all.reserve(entries.size());
  for (auto& [begun_id, entry] : entries)
    all.push_back(std::move(entry));
  return all;
}

}  // namespace nutshell::service
