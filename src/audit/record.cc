#include "audit/record.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "audit/json_text.h"
#include "base/sha256.h"
#include "core/json_form.h"

namespace nutshell::audit {
namespace {

constexpr std::string_view kIdStart = R"({"id":)";
constexpr std::string_view kPreviousStart = R"(,"prev":")";
constexpr std::string_view kTimeStart = R"(","time_us":)";
constexpr std::string_view kHashStart = R"(,"hash":")";
constexpr std::string_view kLineEnd = R"("})";

// Writes the fields of an entry directly, which is faster than a JSON library: every operation of
// the daemon writes two lines.
class LineWriter {
 public:
  void operator()(const FieldInfo& info, const std::string& value) {
    const bool is_always_there =
        info.name == "tenant" || info.name == "who" || info.name == "action";
    if (value.empty() && !is_always_there) return;
    if (info.format == Format::Json) return object_.add_json(info.name, value);
    object_.add(info.name, value);
  }
  void operator()(const FieldInfo& info, std::uint64_t value) {
    if (value != 0) object_.add_number(info.name, value);
  }
  void operator()(const FieldInfo& info, std::chrono::microseconds value) {
    if (value.count() > 0)
      object_.add_json(info.name, fmt::format("{}", static_cast<double>(value.count()) / 1000.0));
  }
  std::string text() && { return std::move(object_).text(); }

 private:
  JsonObject object_;
};

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Failure not_a_record() {
  return failure(ErrorCode::Corrupt, "not a line of the record");
}

bool fits(const std::string& wanted, const std::string& value) {
  return wanted.empty() || wanted == value;
}

}  // namespace

std::string encode_entry(const Entry& entry) {
  LineWriter writer;
  Entry::describe(writer, entry);
  std::string text = std::move(writer).text();
  text.pop_back();  // the line goes on with the hash
  text.front() = ',';
  return text;
}

std::string encode_line(std::uint64_t id, std::string_view previous, std::int64_t time_us,
                        std::string_view encoded_entry, std::string& hash) {
  std::string line;
  line.reserve(encoded_entry.size() + 256);
  fmt::format_to(std::back_inserter(line), "{}{}{}{}{}{}", kIdStart, id, kPreviousStart, previous,
                 kTimeStart, time_us);
  line += encoded_entry;
  hash = sha256_hex(line);
  line += kHashStart;
  line += hash;
  line += kLineEnd;
  line += '\n';
  return line;
}

Result<std::uint64_t> read_id(std::string_view line) {
  std::uint64_t id = 0;
  if (!line.starts_with(kIdStart)) return not_a_record();
  const char* const end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data() + kIdStart.size(), end, id);
  if (error != std::errc() || after == end || *after != ',') return not_a_record();
  return id;
}

std::optional<std::int64_t> read_time_us(std::string_view line) {
  const std::size_t previous = line.find(kPreviousStart);
  if (previous == std::string_view::npos) return std::nullopt;
  const std::size_t start = previous + kPreviousStart.size() + kHashDigits;
  if (start > line.size() || !line.substr(start).starts_with(kTimeStart)) return std::nullopt;
  std::int64_t time_us = 0;
  const char* const digits = line.data() + start + kTimeStart.size();
  const auto [after, error] = std::from_chars(digits, line.data() + line.size(), time_us);
  return error == std::errc() ? std::optional(time_us) : std::nullopt;
}

Result<Link> read_link(std::string_view line) {
  Link link;
  if (!line.starts_with(kIdStart)) return not_a_record();
  const char* const end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data() + kIdStart.size(), end, link.id);
  if (error != std::errc()) return not_a_record();
  const std::string_view rest(after, static_cast<std::size_t>(end - after));
  if (!rest.starts_with(kPreviousStart)) return not_a_record();
  link.previous = rest.substr(kPreviousStart.size(), kHashDigits);
  const std::size_t tail = kHashStart.size() + kHashDigits + kLineEnd.size();
  if (rest.size() < tail + kPreviousStart.size() + kHashDigits) return not_a_record();
  link.hashed = line.substr(0, line.size() - tail);
  const std::string_view closing = line.substr(link.hashed.size());
  link.hash = closing.substr(kHashStart.size(), kHashDigits);
  if (!closing.starts_with(kHashStart) || !closing.ends_with(kLineEnd) || !is_hash(link.hash) ||
      !is_hash(link.previous))
    return not_a_record();
  return link;
}

Result<Record> decode_line(std::string_view line) {
  const Link link = TRY(read_link(line));
  Record record;
  record.id = link.id;
  record.previous = link.previous;
  record.hash = link.hash;
  const auto parsed = nlohmann::ordered_json::parse(line, nullptr, false);
  if (!parsed.is_object()) return not_a_record();
  record.time_us = read_time_us(line).value_or(0);
  if (!read_json(parsed, record.entry)) return not_a_record();
  return record;
}

bool matches(const Filter& filter, const Record& record) {
  const Entry& entry = record.entry;
  return record.id > filter.after_id && record.time_us >= filter.since_us &&
         record.time_us <= filter.until_us && fits(filter.tenant, entry.tenant) &&
         fits(filter.sandbox, entry.sandbox) && fits(filter.session, entry.session) &&
         fits(filter.action, entry.action);
}

}  // namespace nutshell::audit
