#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/built_in.h"
#include "tools/image_header.h"
#include "tools/result_text.h"
#include "tools/shell_words.h"
#include "tools/text_budget.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 8000;
constexpr std::uint32_t kMostLineBytes = 1000;
constexpr std::uint64_t kHeaderBytes = 64ULL << 10U;  // of an image that is too large
constexpr std::size_t kWorthRecalling = 300;          // tokens; a shorter text is shown again

// The numbered lines of a page, and the offset at which each ends.
struct NumberedLines {
  std::string text;
  std::vector<std::size_t> ends;
};

NumberedLines number_lines(const wire::TextPage& page) {
  NumberedLines lines;
  lines.text.reserve(page.text.size() + page.text.size() / 4 + 64);
  std::string_view rest = page.text;
  auto cut = page.cut_lines.begin();
  for (std::uint64_t number = page.first_line; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.text += fmt::format_int(number).c_str();
    lines.text += '\t';
    lines.text += rest.substr(0, end);
    while (cut != page.cut_lines.end() && cut->line < number)
      ++cut;
    if (cut != page.cut_lines.end() && cut->line == number)
      lines.text += fmt::format("…(+{} bytes)", cut->bytes > end ? cut->bytes - end : 0);
    lines.text += '\n';
    lines.ends.push_back(lines.text.size());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

// Names what differs from plain UTF-8 with newlines, which matters for edit and write.
std::string peculiarities(const wire::TextPage& page) {
  std::string text;
  if (page.encoding != "utf-8") text += " " + model_text(page.encoding);
  if (page.has_crlf != 0) text += " crlf";
  if (page.ends_with_newline == 0 && page.total_lines > 0) text += " no-final-newline";
  return text;
}

std::uint64_t shown_number(std::uint64_t line, const ToolContext& context) {
  return context.dialect == Dialect::RoomKit ? line - 1 : line;
}

std::string header_of(const std::string& path, const wire::TextPage& page, std::size_t lines) {
  const std::string place =
      page.total_lines == 0
          ? "empty"
          : fmt::format("{}-{}/{}", page.first_line, page.first_line + lines - 1, page.total_lines);
  return fmt::format("{} {} v{}{}\n", visible_name(path), place, model_text(page.version),
                     peculiarities(page));
}

std::string fields_of(const wire::TextPage& page, std::size_t lines) {
  return nlohmann::ordered_json{{"version", model_text(page.version)},
                                {"encoding", model_text(page.encoding)},
                                {"crlf", page.has_crlf != 0},
                                {"size", page.info.size},
                                {"mode", page.info.mode},
                                {"first_line", page.first_line},
                                {"line_count", lines},
                                {"total_lines", page.total_lines}}
      .dump();
}

// Programs that scale images, with their arguments around the names of the files.
struct Scaler {
  const char* program;
  const char* before;
  const char* between;
};
constexpr std::array kScalers = {
    Scaler{"magick", "magick", "-resize '1568x1568>'"},
    Scaler{"convert", "convert", "-resize '1568x1568>'"},
    Scaler{"vipsthumbnail", "vipsthumbnail", "--size '1568>' -o"},
    Scaler{"ffmpeg", "ffmpeg -i", "-vf 'scale=w=min(1568\\,iw):h=-2'"},
};

// Names the command that makes an image which models read, if the sandbox has one.
std::string how_to_scale(const std::string& path, ToolContext& context) {
  for (const Scaler& scaler : kScalers) {
    const auto info = context.init.stat_target(fmt::format("/usr/bin/{}", scaler.program));
    if (!info || info->kind != wire::FileKind::Regular) continue;
    return fmt::format("Make a smaller copy with bash: {} {} {} /tmp/small.png; then read that.",
                       scaler.before, join_shell_words({path}), scaler.between);
  }
  return "The sandbox has no program that converts or scales images (magick, convert, "
         "vipsthumbnail, ffmpeg); look at it with bash, or ask for a smaller PNG or JPEG.";
}

std::string described(const ImageHeader& header, std::uint64_t bytes) {
  if (header.width == 0 || header.height == 0)
    return fmt::format("{}, {} bytes", header.name, bytes);
  return fmt::format("{}, {} × {} pixels, {} bytes", header.name, header.width, header.height,
                     bytes);
}

Result<std::string> first_bytes(const std::string& path, std::uint64_t most, ToolContext& context) {
  wire::ReadFile request;
  request.path = path;
  request.length = most;
  std::string whole;
  TRY(context.init.read_file(request, [&](std::string_view bytes) -> Result<> {
    TRY(context.memory.take(bytes.size() * CallMemory::kForAByte));
    whole += bytes;
    return {};
  }));
  return whole;
}

// Returns the image, if the APIs of models accept it: one refused image spoils the whole
// conversation of a client.
Result<ToolResult> read_image(const std::string& path, const wire::TextPage& page,
                              ToolContext& context) {
  const bool is_large = page.info.size > kMostImageBytes;
  std::string bytes = TRY(first_bytes(path, is_large ? kHeaderBytes : kMostImageBytes, context));
  const ImageHeader header = read_image_header(bytes);
  const std::uint64_t size = is_large ? page.info.size : bytes.size();
  const std::string reason = why_refused(header, size);
  if (!reason.empty()) {
    return refuse(ToolError{ErrorCode::Binary,
                            fmt::format("{} is {}.", visible_name(path), described(header, size)),
                            reason, how_to_scale(path, context)});
  }
  ToolResult result;
  result.text = fmt::format("{} {}", visible_name(path), described(header, size));
  result.image = ToolImage{header.media_type, std::move(bytes)};
  return result;
}

Result<ToolResult> tell_binary(const std::string& path, const wire::TextPage& page,
                               ToolContext& context) {
  const bool is_image = page.media_type.starts_with("image/");
  if (is_image && context.takes_images) return read_image(path, page, context);
  return refuse(ToolError{
      ErrorCode::Binary,
      fmt::format("{} is {}, {} bytes.", visible_name(path), page.media_type, page.info.size),
      {},
      "Look at it with bash, for example with file, strings or xxd."});
}

// As much of the page as fits the budget, and the offset of the next one.
ToolResult tell_page(const std::string& path, const wire::TextPage& page, ToolContext& context,
                     const TextBudget& budget) {
  const NumberedLines lines = number_lines(page);
  const auto fitted = budget.fit(lines.ends.size(), [&](std::size_t count) {
    std::string text = header_of(path, page, count);
    if (count > 0) text.append(lines.text, 0, lines.ends[count - 1]);
    const std::uint64_t next = page.first_line + count;
    if (next <= page.total_lines)
      text += fmt::format("next: offset={}", shown_number(next, context));
    if (text.ends_with('\n')) text.pop_back();
    return text;
  });
  ToolResult result;
  result.text = fitted.text;
  result.tokens = fitted.tokens;
  result.is_cut = page.first_line + fitted.parts <= page.total_lines;
  if (context.wants_fields) result.fields_json = fields_of(page, fitted.parts);
  return result;
}

Result<ToolResult> read(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  wire::ReadText request;
  request.path = arguments.text("path");
  request.first_line = static_cast<std::uint64_t>(arguments.integer("offset", 1));
  request.most_lines = static_cast<std::uint64_t>(arguments.integer("limit", 10'000'000));
  request.most_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(wire::kMostPageBytes, budget.most_bytes()));
  request.most_line_bytes = kMostLineBytes;
  const auto answer = TRY(context.init.call<wire::TextPage>(request));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  const auto& page = std::get<wire::TextPage>(answer);
  if (page.encoding.empty()) return tell_binary(request.path, page, context);
  if (request.first_line > std::max<std::uint64_t>(page.total_lines, 1)) {
    return bad_argument(fmt::format(
        "`offset` {} is behind the end: {} has {}.", shown_number(request.first_line, context),
        visible_name(request.path), count_of(page.total_lines, "line")));
  }
  ToolResult result = tell_page(request.path, page, context, budget);
  if (context.repeats_output || result.tokens < kWorthRecalling) return result;
  const std::string question = fmt::format("read {} {} {} {}", request.path, request.first_line,
                                           request.most_lines, budget.max_tokens());
  const std::string before = TRY(context.outputs.shown_before(question, result.text, {}));
  if (before.empty()) return result;
  result.text = fmt::format("{} v{}: unchanged since {} (recall {} shows it again)",
                            visible_name(request.path), model_text(page.version), before, before);
  result.output_id = before;
  result.tokens = 0;  // the count was of another text
  return result;
}

}  // namespace

Tool make_read_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  return {.name = "read",
          .help =
              "Read a file as `N<tab>text` lines. Large files return the first page; continue "
              "with `offset`.",
          .parameters = {{"path", String, Required},
                         {"offset", Integer, Optional, "First line, from 1", 1},
                         {"limit", Integer, Optional, "Max lines", 1},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_read_only = true},
          .run = read};
}

}  // namespace nutshell
