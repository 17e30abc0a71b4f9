#include "audit/record.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "audit/json_text.h"
#include "base/sha256.h"

namespace nutshell::audit {
namespace {

constexpr std::string_view kIdStart = R"({"id":)";
constexpr std::string_view kPreviousStart = R"(,"prev":")";
constexpr std::string_view kTimeStart = R"(","time_us":)";
constexpr std::string_view kHashStart = R"(,"hash":")";
constexpr std::string_view kLineEnd = R"("})";

void add_if(JsonObject& object, std::string_view name, const std::string& value) {
  if (!value.empty()) object.add(name, value);
}
void add_if(JsonObject& object, std::string_view name, std::uint64_t value) {
  if (value != 0) object.add_number(name, value);
}

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Failure not_a_record() {
  return failure(ErrorCode::Corrupt, "not a line of the record");
}

Entry entry_of(const nlohmann::json& line) {
  Entry entry;
  entry.tenant = line.value("tenant", "");
  entry.who = line.value("who", "");
  entry.action = line.value("action", "");
  entry.sandbox = line.value("sandbox", "");
  entry.session = line.value("session", "");
  entry.outcome = line.value("outcome", "");
  entry.of = line.value("of", std::uint64_t{0});
  if (line.contains("arguments")) entry.arguments = line.at("arguments").dump();
  entry.input_sha256 = line.value("input_sha256", "");
  entry.output_sha256 = line.value("output_sha256", "");
  entry.error_sha256 = line.value("error_sha256", "");
  entry.output_bytes = line.value("output_bytes", std::uint64_t{0});
  entry.duration = std::chrono::microseconds(line.value("duration_us", std::int64_t{0}));
  entry.detail = line.value("detail", "");
  return entry;
}

bool fits(const std::string& wanted, const std::string& value) {
  return wanted.empty() || wanted == value;
}

}  // namespace

std::string encode_entry(const Entry& entry) {
  JsonObject object;
  object.add("tenant", entry.tenant);
  object.add("who", entry.who);
  object.add("action", entry.action);
  add_if(object, "sandbox", entry.sandbox);
  add_if(object, "session", entry.session);
  add_if(object, "outcome", entry.outcome);
  add_if(object, "of", entry.of);
  if (!entry.arguments.empty()) object.add_json("arguments", entry.arguments);
  add_if(object, "input_sha256", entry.input_sha256);
  add_if(object, "output_sha256", entry.output_sha256);
  add_if(object, "error_sha256", entry.error_sha256);
  add_if(object, "output_bytes", entry.output_bytes);
  add_if(object, "duration_us",
         static_cast<std::uint64_t>(std::max<std::int64_t>(0, entry.duration.count())));
  add_if(object, "detail", entry.detail);
  std::string text = std::move(object).text();
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
  try {
    const auto parsed = nlohmann::json::parse(line);
    record.time_us = parsed.value("time_us", std::int64_t{0});
    record.entry = entry_of(parsed);
  } catch (const nlohmann::json::exception&) {
    return not_a_record();
  }
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
