#include "egress/inspect/cached_answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace nutshell::egress {
namespace {

using std::chrono::system_clock;

constexpr std::size_t kPart = 64U << 10U;
constexpr std::chrono::seconds kLongestFreshness{600};
constexpr std::size_t kMostKeyBytes = 1024;

// The seconds for which an answer is current by its own word.
std::chrono::seconds freshness_of(const http::Headers& headers) {
  constexpr std::string_view kName = "max-age=";
  const std::string_view text = headers.get("Cache-Control");
  const std::size_t at = text.find(kName);
  if (at == std::string_view::npos || headers.has_word("Cache-Control", "no-cache"))
    return std::chrono::seconds(0);
  const std::string_view number = text.substr(at + kName.size());
  std::int64_t seconds = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), seconds).ec != std::errc())
    return std::chrono::seconds(0);
  return std::clamp(std::chrono::seconds(seconds), std::chrono::seconds(0), kLongestFreshness);
}

http::Headers kept_of(const http::Headers& headers) {
  static constexpr std::array kKept = {"Content-Type", "Content-Encoding", "ETag", "Last-Modified",
                                       "Cache-Control"};
  http::Headers kept;
  for (const char* name : kKept) {
    if (const std::string* value = headers.find(name)) kept.add(name, *value);
  }
  return kept;
}

bool may_be_kept(const http::ResponseHead& head) {
  // Without either, the end of the body cannot be told from a connection that broke.
  const bool has_end =
      head.headers.count("Content-Length") + head.headers.count("Transfer-Encoding") > 0;
  return head.status == 200 && has_end && !head.headers.has_word("Cache-Control", "no-store") &&
         !head.headers.has_word("Cache-Control", "private");
}

bool may_be_asked(const GateRequest& request, const CacheSettings& settings) {
  const std::uint16_t usual = request.named.scheme == "https" ? 443 : 80;
  return settings.store != nullptr && request.named.method == "GET" && !request.has_body() &&
         !request.wants_websocket && request.named.port == usual &&
         // Registries ignore queries: with them, one file would be kept any number of times.
         request.target.find('?') == std::string::npos &&
         request.headers.count("Authorization") == 0 && request.headers.count("Cookie") == 0;
}

}  // namespace

std::optional<CachedAnswer> CachedAnswer::begin(const CacheSettings& settings,
                                                GateRequest& request) {
  if (!may_be_asked(request, settings)) return std::nullopt;
  const PackageFile kind =
      package_file(settings.registries, request.named.host, request.named.path);
  if (kind == PackageFile::None) return std::nullopt;
  CachedAnswer cached(*settings.store, kind);
  const bool is_index = kind == PackageFile::Index;
  const bool is_compressed = is_index && request.headers.has_word("Accept-Encoding", "gzip");
  const std::string accept(is_index ? request.headers.get("Accept") : "*/*");
  cached.client_has_ = request.headers.get("If-None-Match");
  cached.key_ = fmt::format("{}://{}{} {} {}", request.named.scheme, request.named.host,
                            request.target, is_compressed ? "gzip" : "identity", accept);
  if (cached.key_.size() > kMostKeyBytes) return std::nullopt;
  cached.has_to_ask_ = request.headers.has_word("Cache-Control", "no-cache");
  http::Headers asked = {{"Accept", accept.empty() ? "*/*" : accept},
                         {"Accept-Encoding", is_compressed ? "gzip" : "identity"}};
  if (const std::string* agent = request.headers.find("User-Agent"))
    asked.add("User-Agent", *agent);
  cached.stored_ = settings.store->find(cached.key_);
  if (cached.stored_) {
    const http::Headers& known = cached.stored_->headers;
    if (const std::string* tag = known.find("ETag")) asked.add("If-None-Match", *tag);
    if (const std::string* date = known.find("Last-Modified"))
      asked.add("If-Modified-Since", *date);
  }
  request.headers = std::move(asked);
  return cached;
}

bool CachedAnswer::is_current() const {
  if (!stored_ || has_to_ask_) return false;
  if (kind_ == PackageFile::Immutable) return true;
  return system_clock::now() - stored_->checked_at < freshness_of(stored_->headers);
}

Result<> CachedAnswer::take_head(http::ResponseHead& head, std::string& /*reason*/) {
  if (stored_ && head.status == 304) {
    takes_over_ = true;
    // An entry that cannot be written is asked about again the next time.
    (void)store_->confirm(key_, *stored_);
    return {};
  }
  if (stored_ && head.status >= 500) {
    takes_over_ = true;
    return {};
  }
  if (!may_be_kept(head)) return {};
  kept_headers_ = kept_of(head.headers);
  // A store without room is no reason to fail the download.
  if (auto writer = store_->begin(key_)) writer_ = std::move(*writer);
  return {};
}

std::string CachedAnswer::take_part(std::string_view bytes) {
  if (writer_ && !writer_->append(bytes)) writer_.reset();
  return std::string(bytes);
}

std::string CachedAnswer::take_end() {
  if (writer_) (void)writer_->keep(kept_headers_);  // else it is downloaded again
  writer_.reset();
  return {};
}

Result<> CachedAnswer::give(http::Transport& client, const GateRequest& request, FlowGuard& guard,
                            const InspectTimes& times) {
  const std::string_view tag = stored_->headers.get("ETag");
  const bool is_known = !tag.empty() && client_has_ == tag;
  std::string head = is_known
                         ? "HTTP/1.1 304 Not Modified\r\n"
                         : fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", stored_->size);
  for (const http::Header& header : stored_->headers)
    head += fmt::format("{}: {}\r\n", header.name, header.value);
  head += fmt::format("X-Nutshell-Cache: hit\r\nConnection: {}\r\n\r\n",
                      request.keeps_alive ? "keep-alive" : "close");
  TRY(client.write(head, Deadline::in(times.client)));
  std::string part(kPart, '\0');
  for (std::uint64_t left = is_known ? 0 : stored_->size; left > 0;) {
    const ssize_t count =
        ::read(stored_->body.get(), part.data(), std::min<std::uint64_t>(left, part.size()));
    if (count < 0) return syscall_failure("read", "a kept download");
    if (count == 0) return failure(ErrorCode::Corrupt, "a kept download is too short");
    const auto size = static_cast<std::size_t>(count);
    TRY(guard.carry(size));
    TRY(client.write(std::string_view(part).substr(0, size), Deadline::in(times.client)));
    left -= size;
  }
  return {};
}

}  // namespace nutshell::egress
