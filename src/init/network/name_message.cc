#include "init/network/name_message.h"

#include <algorithm>

namespace nutshell::init {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kMostAnswerBytes = 512;
constexpr std::size_t kMostNameBytes = 253;
constexpr std::size_t kMostLabelBytes = 63;
constexpr std::uint16_t kAddress4 = 1;
constexpr std::uint16_t kAddress6 = 28;
constexpr std::uint16_t kExtension = 41;  // EDNS
constexpr std::uint16_t kAny = 255;
constexpr std::uint16_t kInternet = 1;

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8U |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

void put_16(std::string& out, std::uint32_t value) {
  out += static_cast<char>(value >> 8U & 0xffU);
  out += static_cast<char>(value & 0xffU);
}

void put_32(std::string& out, std::uint32_t value) {
  put_16(out, value >> 16U);
  put_16(out, value & 0xffffU);
}

// Letters, digits, hyphen and underscore: names with anything else mean different things to
// different readers.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

enum class NameForm { Plain, Odd, Malformed };

// Reads the labels from `at` on, which it moves behind them.
NameForm read_name(std::string_view packet, std::size_t& at, std::string& name) {
  NameForm form = NameForm::Plain;
  for (;;) {
    if (at >= packet.size()) return NameForm::Malformed;
    const std::size_t size = static_cast<unsigned char>(packet[at++]);
    if (size == 0) return form;
    if (size > kMostLabelBytes || at + size > packet.size()) return NameForm::Malformed;
    const std::string_view label = packet.substr(at, size);
    at += size;
    if (!std::all_of(label.begin(), label.end(), is_plain)) form = NameForm::Odd;
    if (!name.empty()) name += '.';
    name += label;
    if (name.size() > kMostNameBytes) return NameForm::Malformed;
  }
}

// Behind the question only the record of EDNS may stand, which is not answered.
bool has_known_tail(std::string_view tail, std::uint16_t records) {
  constexpr std::size_t kFixedBytes = 11;
  if (records == 0) return tail.empty();
  if (records != 1 || tail.size() < kFixedBytes || tail[0] != '\0') return false;
  return number_at(tail, 1) == kExtension && tail.size() == kFixedBytes + number_at(tail, 9);
}

void decide(NameQuery& query, std::uint16_t record_class, NameForm form) {
  if (record_class != kInternet || query.type == kAny) {
    query.code = NameCode::NotImplemented;
  } else if (form == NameForm::Odd) {
    query.code = NameCode::NoSuchName;
  } else {
    const bool is_address = query.type == kAddress4 || query.type == kAddress6;
    query.is_for_host = is_address && !query.name.empty();
  }
}

}  // namespace

std::optional<NameQuery> parse_name_query(std::string_view packet) {
  constexpr unsigned kIsAnswer = 0x8000;
  constexpr unsigned kOperation = 0x7800;
  constexpr unsigned kWantsRecursion = 0x0100;
  if (packet.size() < kHeaderBytes) return std::nullopt;
  const unsigned flags = number_at(packet, 2);
  if ((flags & kIsAnswer) != 0) return std::nullopt;
  NameQuery query;
  query.number = number_at(packet, 0);
  query.wants_recursion = (flags & kWantsRecursion) != 0;
  query.code = NameCode::Malformed;
  if ((flags & kOperation) != 0) {
    query.code = NameCode::NotImplemented;
    return query;
  }
  const bool has_one_question =
      number_at(packet, 4) == 1 && number_at(packet, 6) == 0 && number_at(packet, 8) == 0;
  if (!has_one_question) return query;
  std::size_t at = kHeaderBytes;
  std::string name;
  const NameForm form = read_name(packet, at, name);
  if (form == NameForm::Malformed || at + 4 > packet.size()) return query;
  if (!has_known_tail(packet.substr(at + 4), number_at(packet, 10))) return query;
  query.code = NameCode::Good;
  query.name = std::move(name);
  query.type = number_at(packet, at);
  query.question = packet.substr(kHeaderBytes, at + 4 - kHeaderBytes);
  decide(query, number_at(packet, at + 2), form);
  return query;
}

std::string write_name_answer(const NameQuery& query, NameCode code, std::uint32_t seconds_to_live,
                              const std::vector<std::string>& addresses) {
  constexpr unsigned kAnswers = 0x8080;  // it is an answer, and recursion is available
  constexpr std::size_t kRecordBytes = 12;
  constexpr unsigned kToQuestion = 0xc000 | kHeaderBytes;  // the name is that of the question
  const std::size_t size = query.type == kAddress6 ? 16 : 4;
  std::size_t count = 0;
  std::string records;
  for (const std::string& address : addresses) {
    const std::size_t used = kHeaderBytes + query.question.size() + records.size();
    if (address.size() != size || used + kRecordBytes + size > kMostAnswerBytes) continue;
    put_16(records, kToQuestion);
    put_16(records, query.type);
    put_16(records, kInternet);
    put_32(records, seconds_to_live);
    put_16(records, static_cast<std::uint32_t>(size));
    records += address;
    ++count;
  }
  std::string answer;
  put_16(answer, query.number);
  put_16(answer, kAnswers | (query.wants_recursion ? 0x0100U : 0U) | static_cast<unsigned>(code));
  put_16(answer, query.question.empty() ? 0 : 1);
  put_16(answer, static_cast<std::uint32_t>(count));
  put_32(answer, 0);  // no authorities, nothing additional
  return answer + query.question + records;
}

bool is_local_name(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return lower == "localhost" || lower.ends_with(".localhost");
}

}  // namespace nutshell::init
