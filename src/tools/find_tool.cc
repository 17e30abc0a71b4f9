#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/text_budget.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 2000;
constexpr std::uint32_t kMostResults = 4000;

// A line for each directory: "src/net/ http.cpp http.hpp".
std::string lines_of(const std::vector<wire::FileInfo>& found, std::size_t count) {
  std::string text;
  std::string_view folder;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view path = found[i].path;
    const std::size_t slash = path.rfind('/');
    const bool is_top = slash == std::string_view::npos;
    const std::string_view parent = is_top ? std::string_view("./") : path.substr(0, slash + 1);
    if (parent != folder) text += "\n" + visible_name(parent);
    folder = parent;
    text += " " + visible_name(is_top ? path : path.substr(slash + 1));
    if (found[i].kind == wire::FileKind::Directory) text += '/';
  }
  return text;
}

std::string heading(const wire::FindPage& page, std::string_view type) {
  std::string text = type == "any"   ? count_of(page.total, "path")
                     : type == "dir" ? count_of(page.total, "dir")
                                     : count_of(page.total, "file");
  if (page.ignored > 0) text += fmt::format(" ({} ignored)", page.ignored);
  if (page.is_partial != 0)
    text += fmt::format(" partial: stopped after {} entries; narrow with path", page.scanned);
  return text;
}

wire::FindFiles request_of(const Arguments& arguments) {
  wire::FindFiles request;
  const std::string type = arguments.text("type", "file");
  request.path = arguments.text("path", ".");
  request.glob = arguments.text("glob", "*");
  request.kind = type == "dir" ? wire::FileKind::Directory : wire::FileKind::Regular;
  request.is_any_kind = type == "any" ? 1 : 0;
  request.includes_ignored = arguments.is_set("all") ? 1 : 0;
  request.offset = static_cast<std::uint64_t>(arguments.integer("offset", 0));
  request.most_results = kMostResults;
  return request;
}

std::string fields_of(const wire::FindPage& page, std::size_t count) {
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < count; ++i)
    paths.push_back(model_text(page.found[i].path));
  return nlohmann::ordered_json{
      {"paths", std::move(paths)}, {"total", page.total}, {"partial", page.is_partial != 0}}
      .dump();
}

Result<ToolResult> find(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  const wire::FindFiles request = request_of(arguments);
  auto answer = TRY(context.init.call<wire::FindPage>(request));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  auto& page = std::get<wire::FindPage>(answer);
  for (wire::FileInfo& info : page.found)
    info.path = path_below(request.path, info.path);
  const auto limit = static_cast<std::size_t>(arguments.integer("limit", 0));
  if (limit > 0 && limit < page.found.size()) page.found.resize(limit);
  const auto fitted = budget.fit(page.found.size(), [&](std::size_t count) {
    std::string text = heading(page, arguments.text("type", "file")) + lines_of(page.found, count);
    const std::uint64_t next = request.offset + count;
    if (next < page.total && count > 0)
      text += fmt::format("\n(+{} more; narrow with glob or path, or offset={})", page.total - next,
                          next);
    return text;
  });
  ToolResult result;
  result.text = fitted.text;
  result.is_cut = request.offset + fitted.parts < page.total;
  result.tokens = fitted.tokens;
  if (context.wants_fields) result.fields_json = fields_of(page, fitted.parts);
  return result;
}

}  // namespace

Tool make_find_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  Parameter glob{"glob", String, Optional, "e.g. **/*.{ts,tsx}"};
  glob.roomkit_name = "name";
  Parameter type{"type", String, Optional};
  type.choices = {"file|f", "dir|d", "any"};
  type.by_default = "\"file\"";
  return {.name = "find",
          .help =
              "Find paths by glob, newest first, grouped by directory. Honors .gitignore unless "
              "`all`.",
          .parameters = {glob,
                         {"path", String, Optional},
                         type,
                         {"all", Boolean, Optional},
                         {"offset", Integer, Optional, "", 0},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_read_only = true},
          .run = find};
}

}  // namespace nutshell
