#include "backends/native/cgroups/dbus_message.h"

#include <cstring>

namespace nutshell::native {
namespace {

constexpr char kLittleEndian = 'l';
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kFixedHeader = 16;

// Fields of a message's header.
constexpr std::uint8_t kPath = 1;
constexpr std::uint8_t kInterface = 2;
constexpr std::uint8_t kMember = 3;
constexpr std::uint8_t kErrorName = 4;
constexpr std::uint8_t kReplySerial = 5;
constexpr std::uint8_t kSignature = 8;

Failure malformed() {
  return failure(ErrorCode::Corrupt, "a malformed D-Bus message came");
}

// Reads values with their padding. Every read checks the bounds.
class DbusReader {
 public:
  DbusReader(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  Result<std::uint8_t> byte() {
    if (at_ >= bytes_.size()) return malformed();
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  Result<std::uint32_t> integer() {
    align(4);
    if (at_ > bytes_.size() || bytes_.size() - at_ < 4) return malformed();
    std::uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Result<std::string_view> text() { return counted(TRY(integer())); }
  Result<std::string_view> signature() { return counted(TRY(byte())); }

  void align(std::size_t to) { at_ = (at_ + to - 1) / to * to; }
  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  // Both kinds of text end with a zero byte that is not counted.
  Result<std::string_view> counted(std::size_t size) {
    if (at_ >= bytes_.size() || bytes_.size() - at_ <= size) return malformed();
    const std::string_view value = bytes_.substr(at_, size);
    at_ += size + 1;
    return value;
  }

  std::string_view bytes_;
  std::size_t at_;
};

Result<> read_field(DbusReader& reader, DbusMessage& message, std::string& body_signature) {
  reader.align(8);
  const std::uint8_t code = TRY(reader.byte());
  const std::string_view type = TRY(reader.signature());
  if (type == "u") {
    const std::uint32_t value = TRY(reader.integer());
    if (code == kReplySerial) message.reply_to = value;
    return {};
  }
  if (type == "s" || type == "o") {
    const std::string_view value = TRY(reader.text());
    if (code == kErrorName) message.error_name = value;
    return {};
  }
  if (type != "g") return malformed();
  const std::string_view value = TRY(reader.signature());
  if (code == kSignature) body_signature = value;
  return {};
}

void add_field(DbusWriter& header, std::uint8_t code, std::string_view type,
               std::string_view value) {
  header.align(8);
  header.byte(code);
  header.signature(type);
  if (type == "g") {
    header.signature(value);
  } else {
    header.text(value);
  }
}

}  // namespace

void DbusWriter::put(std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes_[at + i] = static_cast<char>(value >> (8 * i) & 0xffU);
}

void DbusWriter::integer(std::uint32_t value) {
  align(4);
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeof value);
  put(at, value);
}

void DbusWriter::text(std::string_view value) {
  integer(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value).push_back('\0');
}

void DbusWriter::signature(std::string_view value) {
  byte(static_cast<std::uint8_t>(value.size()));
  bytes_.append(value).push_back('\0');
}

DbusWriter::Array DbusWriter::begin_array(std::size_t alignment) {
  integer(0);
  const std::size_t length_at = bytes_.size() - sizeof(std::uint32_t);
  align(alignment);  // this padding does not count as content
  return {length_at, bytes_.size()};
}

void DbusWriter::end_array(const Array& array) {
  put(array.length_at, static_cast<std::uint32_t>(bytes_.size() - array.first_at));
}

std::string encode_call(std::uint32_t serial, const DbusCall& call) {
  DbusWriter header;
  header.byte(static_cast<std::uint8_t>(kLittleEndian));
  header.byte(static_cast<std::uint8_t>(DbusMessage::Kind::Call));
  header.byte(0);
  header.byte(kVersion);
  header.integer(static_cast<std::uint32_t>(call.body.size()));
  header.integer(serial);
  const auto fields = header.begin_array(8);
  add_field(header, kPath, "o", call.path);
  add_field(header, kInterface, "s", call.interface);
  add_field(header, kMember, "s", call.member);
  add_field(header, kSignature, "g", call.signature);
  header.end_array(fields);
  header.align(8);
  return header.bytes() + call.body;
}

Result<std::optional<DbusMessage>> take_message(std::string& bytes) {
  if (bytes.size() < kFixedHeader) return std::nullopt;
  if (bytes[0] != kLittleEndian || static_cast<std::uint8_t>(bytes[3]) != kVersion)
    return malformed();
  const auto kind = static_cast<std::uint8_t>(bytes[1]);
  if (kind < 1 || kind > 4) return malformed();
  DbusReader fixed(bytes, 4);
  const std::uint64_t body = TRY(fixed.integer());
  (void)TRY(fixed.integer());  // its own serial
  const std::uint64_t fields = TRY(fixed.integer());
  const std::uint64_t body_at = (kFixedHeader + fields + 7) / 8 * 8;
  if (body_at + body > kMostDbusMessage) return malformed();
  if (bytes.size() < body_at + body) return std::nullopt;

  DbusMessage message;
  message.kind = static_cast<DbusMessage::Kind>(kind);
  std::string body_signature;
  DbusReader header(std::string_view(bytes).substr(0, kFixedHeader + fields), kFixedHeader);
  while (header.position() < kFixedHeader + fields)
    TRY(read_field(header, message, body_signature));
  if (message.kind == DbusMessage::Kind::Error && body_signature.starts_with('s')) {
    DbusReader content(std::string_view(bytes).substr(0, body_at + body), body_at);
    message.error_text = TRY(content.text());
  }
  bytes.erase(0, body_at + body);
  return message;
}

}  // namespace nutshell::native
