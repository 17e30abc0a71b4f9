#include "cli/mcp_lines.h"

#include <fmt/format.h>

#include <vector>

namespace nutshell::cli {
namespace {

struct Range {
  std::size_t begin = 0;  // lines
  std::size_t end = 0;
};

// Splits a text into lines; each keeps its newline.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const std::size_t end = newline == std::string::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines, Range range) {
  std::string text;
  for (std::size_t i = range.begin; i < range.end; ++i)
    text += lines[i];
  return text;
}

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r\n") - begin + 1);
}

bool is_blank(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.empty() || text == "\n" || text.starts_with('#');
}

std::size_t margin_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

Range find_toml(const std::vector<std::string>& lines, const std::string& name) {
  Range range;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (!line.starts_with('[')) continue;
    const bool is_ours = line == fmt::format("[{}]", name);
    const bool is_below = line.starts_with(fmt::format("[{}.", name));
    if (is_ours) range = {i, lines.size()};
    if (range.end > 0 && !is_ours && !is_below) return {range.begin, i};
  }
  return range;
}

std::optional<std::size_t> find_heading(const std::vector<std::string>& lines,
                                        std::string_view key) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (margin_of(lines[i]) == 0 && lines[i].starts_with(fmt::format("{}:", key))) return i;
  return std::nullopt;
}

Range find_yaml(const std::vector<std::string>& lines, std::string_view key,
                std::string_view name) {
  const auto heading = find_heading(lines, key);
  if (!heading) return {};
  for (std::size_t i = *heading + 1; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    const std::size_t margin = margin_of(lines[i]);
    if (margin == 0) return {};
    if (trimmed(lines[i]) != fmt::format("{}:", name)) continue;
    std::size_t end = i + 1;
    while (end < lines.size() && !trimmed(lines[end]).empty() && margin_of(lines[end]) > margin)
      ++end;
    return {i, end};
  }
  return {};
}

std::string without(const std::vector<std::string>& lines, Range range) {
  return joined(lines, {0, range.begin}) + joined(lines, {range.end, lines.size()});
}

}  // namespace

std::string toml_table(const std::string& text, const std::string& name) {
  const auto lines = lines_of(text);
  return joined(lines, find_toml(lines, name));
}

std::string take_toml_table(const std::string& text, const std::string& name) {
  const auto lines = lines_of(text);
  Range range = find_toml(lines, name);
  // Also takes out the empty line that was added before the block.
  const bool is_last = range.end == lines.size();
  if (range.end > 0 && is_last && range.begin > 0 && trimmed(lines[range.begin - 1]).empty())
    --range.begin;
  return without(lines, range);
}

std::string yaml_block(const std::string& text, std::string_view key, std::string_view name) {
  const auto lines = lines_of(text);
  return joined(lines, find_yaml(lines, key, name));
}

std::string take_yaml_block(const std::string& text, std::string_view key, std::string_view name) {
  const auto lines = lines_of(text);
  return without(lines, find_yaml(lines, key, name));
}

std::optional<std::string> put_yaml_block(const std::string& text, std::string_view key,
                                          const std::string& block) {
  const auto lines = lines_of(text);
  const auto heading = find_heading(lines, key);
  std::size_t margin = 2;
  if (heading) {
    if (trimmed(lines[*heading]) != fmt::format("{}:", key)) return std::nullopt;
    for (std::size_t i = *heading + 1; i < lines.size(); ++i) {
      if (is_blank(lines[i])) continue;
      if (margin_of(lines[i]) > 0) margin = margin_of(lines[i]);
      break;
    }
  }
  std::string shifted;
  for (const std::string& line : lines_of(block))
    shifted += std::string(margin, ' ') + line;
  if (heading)
    return joined(lines, {0, *heading + 1}) + shifted + joined(lines, {*heading + 1, lines.size()});
  const bool is_open = !text.empty() && !text.ends_with('\n');
  return fmt::format("{}{}{}:\n{}", text, is_open ? "\n" : "", key, shifted);
}

std::string value_of(const std::string& block, std::string_view name) {
  for (const std::string& line : lines_of(block)) {
    std::string_view rest = trimmed(line);
    if (!rest.starts_with(name)) continue;
    rest = trimmed(rest.substr(name.size()));
    if (rest.starts_with('=') || rest.starts_with(':')) return std::string(trimmed(rest.substr(1)));
  }
  return {};
}

}  // namespace nutshell::cli
