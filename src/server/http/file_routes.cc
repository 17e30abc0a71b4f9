#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "server/http/problem.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/sandboxes/sandbox_files.h"

namespace nutshell::server {
namespace {

constexpr std::size_t kMostEntries = 10'000;

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t number = 0;
  const auto [place, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || place != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

// Parses one range "bytes=…", as curl and browsers send it; other forms get the whole file. An
// empty result means that the file does not have the range.
Result<std::optional<ByteRange>> range_of(std::string_view header, std::uint64_t size) {
  const ByteRange all{0, size};
  if (!header.starts_with("bytes=") || header.find(',') != header.npos) return std::optional(all);
  header.remove_prefix(6);
  const std::size_t dash = header.find('-');
  if (dash == header.npos) return std::optional(all);
  const auto first = digits(header.substr(0, dash));
  const auto last = digits(header.substr(dash + 1));
  if (!first && !last) return std::optional(all);
  if (!first) {
    const std::uint64_t length = std::min(*last, size);
    if (length == 0) return std::optional<ByteRange>();
    return std::optional(ByteRange{size - length, length});
  }
  if (*first >= size || (last && *last < *first)) return std::optional<ByteRange>();
  const std::uint64_t end = last ? std::min(*last, size - 1) + 1 : size;
  return std::optional(ByteRange{*first, end - *first});
}

Result<> send_file(Call& call, const wire::FileInfo& info, const std::string& path) {
  const bool wants_part = call.exchange->headers().find("Range") != nullptr;
  const auto range = TRY(range_of(call.exchange->headers().get("Range"), info.size));
  if (!range) {
    return reply_problem(*call.exchange, 416,
                         {ErrorCode::InvalidArgument, "the file does not have this range"},
                         {{"Content-Range", fmt::format("bytes */{}", info.size)}});
  }
  const bool is_part = wants_part && range->length != info.size;
  http::Headers headers{{"Content-Type", "application/octet-stream"},
                        {"Accept-Ranges", "bytes"},
                        {"X-Content-Type-Options", "nosniff"}};
  if (is_part) {
    headers.add("Content-Range", fmt::format("bytes {}-{}/{}", range->begin,
                                             range->begin + range->length - 1, info.size));
  }
  TRY(call.exchange->begin_stream(is_part ? 206 : 200, headers));
  wire::ReadFile request;
  request.path = path;
  request.offset = range->begin;
  request.length = range->length;
  if (range->length > 0 && call.exchange->method() != "HEAD") {
    // A failure here cuts the stream without its end, so the client notices.
    TRY(call.service.files().read(call.caller, call.id(), request, [&](std::string_view bytes) {
      return call.exchange->write(bytes);
    }));
  }
  return call.exchange->finish();
}

Result<> read(Call& call) {
  const std::string path = TRY(path_parameter(call));
  const wire::FileInfo info = TRY(call.service.files().stat(call.caller, call.id(), path));
  if (info.kind == wire::FileKind::Directory) {
    return failure(ErrorCode::InvalidArgument, fmt::format("{} is a directory", path));
  }
  return send_file(call, info, path);
}

// Makes the directories that lead to a new file, as the tool `write` does.
Result<> make_parents(Call& call, const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().native();
  if (call.service.files().stat(call.caller, call.id(), parent)) return {};
  wire::MakeDirectory request;
  request.path = parent;
  request.if_exists = wire::IfExists::Accept;
  return call.service.files().make_directory(call.caller, call.id(), request);
}

Result<> write(Call& call) {
  wire::WriteFile request;
  request.path = TRY(path_parameter(call));
  if (const std::string mode = text_parameter(call, "mode"); !mode.empty()) {
    const auto [place, error] =
        std::from_chars(mode.data(), mode.data() + mode.size(), request.mode, 8);
    if (error != std::errc() || place != mode.data() + mode.size() || request.mode > 0777) {
      return failure(ErrorCode::InvalidArgument, "the parameter 'mode' must be like 0644");
    }
  }
  TRY(make_parents(call, request.path));
  TRY(call.service.files().write(call.caller, call.id(), request, [&](std::size_t most) {
    return call.exchange->read_body_part(most);
  }));
  return reply_nothing(call);
}

Result<> remove(Call& call) {
  wire::Remove request;
  request.path = TRY(path_parameter(call));
  request.is_recursive = text_parameter(call, "recursive") == "true" ? 1 : 0;
  TRY(call.service.files().remove(call.caller, call.id(), request));
  return reply_nothing(call);
}

Result<> list(Call& call) {
  const std::string path = TRY(path_parameter(call));
  const bool is_recursive = text_parameter(call, "recursive") == "true";
  std::vector<wire::FileInfo> entries;
  bool is_cut = false;
  const auto walked = call.service.files().walk(
      call.caller, call.id(), path, [&](const wire::FileInfo& info) -> Result<> {
        const bool is_below = info.path.find('/') != std::string::npos;
        if (info.path.empty() || (is_below && !is_recursive)) return {};
        is_cut = entries.size() >= kMostEntries;
        if (is_cut) return failure(ErrorCode::ResourceExhausted, "enough");
        entries.push_back(info);
        return {};
      });
  if (!walked && !is_cut) return Failure(walked.error());
  const auto verdicts =
      TRY(call.service.files().judge_entries(call.caller, call.id(), path, entries));
  Json list = Json::array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    list.push_back(to_json(entries[i]));
    add_verdict(list.back(), verdicts[i]);
  }
  return reply(call, 200, {{"entries", list}, {"truncated", is_cut}});
}

Result<> make_directory(Call& call) {
  wire::MakeDirectory request;
  request.path = TRY(path_parameter(call));
  TRY(call.service.files().make_directory(call.caller, call.id(), request));
  return reply_nothing(call);
}

const Parameter& path_of_file() {
  static const Parameter kPath{
      .name = "path", .help = "absolute, in the sandbox", .presence = Field::Presence::Required};
  return kPath;
}

Route on_files(const char* method, const char* what, const char* name, const char* summary) {
  return {.method = method,
          .path = std::string("/v1/sandboxes/{id}/") + what,
          .name = name,
          .summary = summary,
          .handle = nullptr,
          .query = {path_of_file()},
          .success = 204};
}

}  // namespace

std::vector<Route> file_routes() {
  const Parameter recursive{
      .name = "recursive", .type = Field::Type::Boolean, .help = "with all that is below"};
  Route read_one = on_files("GET", "files", "readFile", "A file's bytes, or a Range of them");
  read_one.handle = read;
  read_one.success = 200;
  read_one.media_type = "application/octet-stream";
  read_one.others = {{206, nullptr}};
  Route write_one = on_files("PUT", "files", "writeFile",
                             "Replace a file at once, or not at all; makes its directories");
  write_one.handle = write;
  write_one.query.push_back({.name = "mode", .help = "octal (0644)"});
  write_one.body = Route::Body::Bytes;
  Route remove_one = on_files("DELETE", "files", "removeFile", "Remove a file or a directory");
  remove_one.handle = remove;
  remove_one.query.push_back(recursive);
  Route list_one = on_files("GET", "directory", "listDirectory", "What is in a directory");
  list_one.handle = list;
  list_one.query.push_back(recursive);
  list_one.gives = directory_shape;
  list_one.success = 200;
  Route make_one = on_files("PUT", "directory", "makeDirectory", "Make a directory");
  make_one.handle = make_directory;
  return {read_one, write_one, remove_one, list_one, make_one};
}

}  // namespace nutshell::server
