#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/text_budget.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 2000;
constexpr std::uint32_t kMostEntries = 4000;

void append_name(std::string& text, const wire::ListedEntry& entry, std::string_view name) {
  text += visible_name(name);
  switch (entry.info.kind) {
    case wire::FileKind::Directory:
      text.append("/ (").append(fmt::format_int(entry.children).c_str()) += ')';
      return;
    case wire::FileKind::Link:
      text.append(" -> ").append(visible_name(entry.info.target));
      return;
    case wire::FileKind::Regular:
      text.append(" ").append(short_size(entry.info.size));
      if ((entry.info.mode & 0111U) != 0) text += " x";
      return;
    case wire::FileKind::Other:
      text += " (not a regular file)";
      return;
  }
}

using Group = std::vector<const wire::ListedEntry*>;

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

// The entries of each folder, folders in the order in which they come first.
std::vector<Group> groups_of(const std::vector<wire::ListedEntry>& entries, std::size_t count) {
  std::vector<Group> groups;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [place, is_new] = places.try_emplace(parent_of(entries[i].info.path), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&entries[i]);
  }
  return groups;
}

// Directories of one folder share a line; other entries have lines of their own. Each folder has a
// heading, except the listed directory itself where it comes first.
std::string lines_of(const std::vector<wire::ListedEntry>& entries, std::size_t count) {
  std::string text;
  for (const Group& group : groups_of(entries, count)) {
    const std::string_view folder = parent_of(group.front()->info.path);
    if (!folder.empty()) text += fmt::format("\n{}/:", visible_name(folder));
    if (folder.empty() && !text.empty()) text += "\n./:";
    bool joins = false;
    for (const wire::ListedEntry* entry : group) {
      const std::string_view path = entry->info.path;
      const bool is_directory = entry->info.kind == wire::FileKind::Directory;
      text += joins && is_directory ? ' ' : '\n';
      append_name(text, *entry, folder.empty() ? path : path.substr(folder.size() + 1));
      joins = is_directory;
    }
  }
  return text;
}

std::string heading(const std::string& path, const wire::Listing& listing) {
  std::string text = path == "." ? "./" : visible_name(path);
  if (!text.ends_with('/')) text += '/';
  text += fmt::format(" ({}, {}", count_of(listing.total_directories, "dir"),
                      count_of(listing.total_files, "file"));
  if (listing.total_ignored > 0) {
    text += "; ignored:";
    for (const std::string& name : listing.ignored)
      text += " " + visible_name(name);
    if (listing.total_ignored > listing.ignored.size())
      text += fmt::format(" +{}", listing.total_ignored - listing.ignored.size());
  }
  text += ")";
  if (listing.is_partial != 0) text += " partial: the directory is too large to count";
  return text;
}

std::string fields_of(const wire::Listing& listing, std::size_t count) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const wire::FileInfo& info = listing.entries[i].info;
    entries.push_back({{"path", model_text(info.path)},
                       {"kind", static_cast<int>(info.kind)},
                       {"size", info.size},
                       {"mode", info.mode},
                       {"modified_ns", info.modified_ns}});
  }
  return nlohmann::ordered_json{{"entries", std::move(entries)},
                                {"total_directories", listing.total_directories},
                                {"total_files", listing.total_files},
                                {"total_ignored", listing.total_ignored},
                                {"partial", listing.is_partial != 0}}
      .dump();
}

Result<ToolResult> list(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  wire::ListDirectory request;
  request.path = arguments.text("path", ".");
  request.depth = static_cast<std::uint32_t>(arguments.integer("depth", 1));
  request.includes_ignored = arguments.is_set("all") ? 1 : 0;
  request.offset = static_cast<std::uint64_t>(arguments.integer("offset", 0));
  request.most_entries = kMostEntries;
  const auto answer = TRY(context.init.call<wire::Listing>(request));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  const auto& listing = std::get<wire::Listing>(answer);
  const std::uint64_t total = listing.total_directories + listing.total_files;
  const auto fitted = budget.fit(listing.entries.size(), [&](std::size_t count) {
    std::string text = heading(request.path, listing) + lines_of(listing.entries, count);
    const std::uint64_t next = request.offset + count;
    if (next < total && count > 0) text += fmt::format("\nnext: offset={}", next);
    return text;
  });
  ToolResult result;
  result.text = fitted.text;
  result.tokens = fitted.tokens;
  result.is_cut = request.offset + fitted.parts < total;
  if (context.wants_fields) result.fields_json = fields_of(listing, fitted.parts);
  return result;
}

}  // namespace

Tool make_ls_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  return {.name = "ls",
          .help =
              "List a directory: `name size` per file, `name/ (n)` per directory. Ignored files "
              "are counted, not listed, unless `all`.",
          .parameters = {{"path", String, Optional},
                         {"depth", Integer, Optional, "", 1, 8},
                         {"all", Boolean, Optional},
                         {"offset", Integer, Optional, "", 0},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_read_only = true},
          .run = list};
}

}  // namespace nutshell
