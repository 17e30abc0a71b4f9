#include "backends/kubernetes/client/watch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/client/api_error.h"
#include "core/json_members.h"
#include "core/json_text.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::size_t kPageObjects = 500;
constexpr std::size_t kMostLineBytes = 4U << 20U;  // an object in etcd is at most 1.5 MiB
constexpr int kServerSeconds = 300;                // the server then ends the watch, and we resume
constexpr auto kHeadTime = 10s;

std::string with_query(const std::string& path, const std::string& query) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + query;
}

std::string version_of(const Json& object) {
  const Json* metadata = member(object, "metadata");
  return metadata == nullptr ? std::string() : text_of(*metadata, "resourceVersion");
}

// Errors that another attempt may not meet.
bool may_pass(ErrorCode code) {
  return code == ErrorCode::Unavailable || code == ErrorCode::DeadlineExceeded ||
         code == ErrorCode::Corrupt;
}

}  // namespace

Result<Listing> list_objects(ApiClient& api, const std::string& path) {
  Listing listing{std::make_unique<Json>(Json::array()), {}};
  std::string page;
  for (;;) {
    std::string query = fmt::format("limit={}", kPageObjects);
    if (!page.empty()) query += "&continue=" + http::percent_encode(page);
    auto answer = api.call({.path = with_query(path, query)});
    // The server forgets the pages of a list after some minutes.
    if (!answer && answer.error().code == ErrorCode::Expired && !page.empty()) {
      page.clear();
      listing.objects->clear();
      continue;
    }
    Json list = TRY(std::move(answer));
    const auto items = list.find("items");
    if (items == list.end() || (!items->is_array() && !items->is_null()))
      return failure(ErrorCode::Corrupt, "Kubernetes answers a list without items");
    for (Json& item : *items)
      listing.objects->push_back(std::move(item));
    const Json* metadata = member(list, "metadata");
    listing.version = version_of(list);
    page = metadata == nullptr ? std::string() : text_of(*metadata, "continue");
    if (page.empty()) return listing;
  }
}

Result<> Watch::list(WatchVisitor& visitor) {
  const Listing listing = TRY(list_objects(api_, path_));
  version_ = listing.version;
  if (version_.empty())
    return failure(ErrorCode::Corrupt, "Kubernetes answers a list without a version");
  visitor.reset(*listing.objects);
  return {};
}

Result<Watch::End> Watch::take_event(std::string_view line, WatchVisitor& visitor) {
  auto event = parse_strict(line, {.bytes = kMostLineBytes});
  const Json* object = event ? member(*event, "object") : nullptr;
  if (object == nullptr) return End::Broken;  // a line that was cut
  const std::string type = text_of(*event, "type");
  if (type == "ERROR") {
    const ApiRefusal refusal = read_status(*object);
    if (refusal.status == 410) return End::Gone;
    if (is_passing(refusal.status) || refusal.status == 0) return End::Broken;
    return Failure(error_of(refusal));
  }
  const std::string version = version_of(*object);
  if (version.empty()) return End::Broken;
  if (type == "DELETED") {
    visitor.removed(*object);
  } else if (type == "ADDED" || type == "MODIFIED") {
    visitor.changed(*object);
  }  // BOOKMARK has a version and nothing else
  version_ = version;
  has_progress_ = true;
  return visitor.is_done() ? End::Done : End::NotYet;
}

// Returns NotYet when all whole lines are taken.
Result<Watch::End> Watch::take_lines(std::string& held, WatchVisitor& visitor) {
  std::size_t begin = 0;
  End end = End::NotYet;
  while (end == End::NotYet) {
    const std::size_t stop = held.find('\n', begin);
    if (stop == std::string::npos) break;
    const std::string_view line = std::string_view(held).substr(begin, stop - begin);
    if (!line.empty()) end = TRY(take_event(line, visitor));
    begin = stop + 1;
  }
  held.erase(0, begin);
  if (held.size() > kMostLineBytes)
    return failure(ErrorCode::Corrupt, "Kubernetes sent a change that is too long");
  return end;
}

Result<Watch::End> Watch::stream(WatchVisitor& visitor, const Deadline& deadline) {
  auto line = TRY(api_.open_line(deadline));
  const std::string query =
      fmt::format("watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                  kServerSeconds, http::percent_encode(version_));
  http::Client::Request request;
  request.target = line.prefix + with_query(path_, query);
  request.headers = line.headers;
  const auto head = TRY(line.client->begin(request, earlier(deadline, Deadline::in(kHeadTime))));
  std::string held;
  for (;;) {
    const std::string piece = TRY(line.client->read_part(64U << 10U, deadline));
    held += piece;
    if (head.status == 200) {
      if (piece.empty()) return End::Broken;
      const End end = TRY(take_lines(held, visitor));
      if (end != End::NotYet) return end;
    } else if (piece.empty() || held.size() > kMostLineBytes) {
      const ApiRefusal refusal = read_refusal(head.status, held, head.headers.get("Retry-After"));
      if (refusal.status == 410) return End::Gone;
      if (refusal.status == 401) api_.renew_credentials();
      return Failure(error_of(refusal));
    }
  }
}

Result<bool> Watch::follow(WatchVisitor& visitor, const Deadline& deadline) {
  int failures = 0;
  bool has_renewed = false;
  while (!deadline.has_passed()) {
    if (version_.empty()) {
      TRY(list(visitor));
      if (visitor.is_done()) return true;
    }
    has_progress_ = false;
    auto ended = stream(visitor, deadline);
    if (has_progress_) failures = 0;
    if (ended && *ended == End::Done) return true;
    if (ended && *ended == End::Gone) {
      version_.clear();
      if (failures++ == 0) continue;  // an old version is usual; one after the other is not
    }
    if (!ended) {
      const ErrorCode code = ended.error().code;
      const bool is_first_401 =
          code == ErrorCode::Unauthenticated && !std::exchange(has_renewed, true);
      if (!is_first_401 && !may_pass(code)) return Failure(std::move(ended).error());
    }
    if (deadline.has_passed()) break;
    if (!api_.pause_before(++failures, std::nullopt, deadline)) return false;
  }
  return false;
}

}  // namespace nutshell::kubernetes
