#include "service/state/postgres_connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <charconv>

namespace nutshell::service {
namespace {

// Numbers of types in PostgreSQL's catalog, which never change.
constexpr unsigned kBytes = 17;
constexpr unsigned kInt64 = 20;
constexpr int kBinary = 1;

std::string to_big_endian(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>(bits >> static_cast<unsigned>(shift) & 0xffU);
  return bytes;
}

class PostgresRow final : public Row {
 public:
  PostgresRow(const Libpq& libpq, const PgResult& result, int row)
      : libpq_(libpq), result_(result), row_(row) {}
  // Integers of any size come with their highest byte first.
  [[nodiscard]] std::int64_t number(int column) const override {
    const std::string bytes = text(column);
    const bool is_negative = !bytes.empty() && (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0;
    std::uint64_t bits = is_negative ? ~0ULL : 0ULL;
    for (const char byte : bytes)
      bits = bits << 8U | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(bits);
  }
  [[nodiscard]] std::string text(int column) const override {
    const int size = libpq_.length(&result_, row_, column);  // 0 for NULL
    return {libpq_.value(&result_, row_, column), static_cast<std::size_t>(size)};
  }

 private:
  const Libpq& libpq_;
  const PgResult& result_;
  int row_;
};

// Values as libpq takes them.
struct Parameters {
  explicit Parameters(const std::vector<Value>& values) {
    bytes.reserve(values.size());
    for (const Value& value : values) {
      const auto* number = std::get_if<std::int64_t>(&value);
      types.push_back(number != nullptr ? kInt64 : kBytes);
      bytes.push_back(number != nullptr ? to_big_endian(*number) : std::get<std::string>(value));
      lengths.push_back(static_cast<int>(bytes.back().size()));
      formats.push_back(kBinary);
    }
    for (const std::string& each : bytes)
      pointers.push_back(each.data());
  }
  [[nodiscard]] int count() const { return static_cast<int>(bytes.size()); }

  std::vector<std::string> bytes;
  std::vector<const char*> pointers;
  std::vector<unsigned> types;
  std::vector<int> lengths;
  std::vector<int> formats;
};

// Codes are in appendix A of PostgreSQL's manual; the first two letters are a class.
ErrorCode code_of_state(const std::string& state) {
  const std::string_view kind = std::string_view(state).substr(0, 2);
  if (kind == "23") return ErrorCode::AlreadyExists;
  if (state == "53100" || state == "53200" || state == "53000") return ErrorCode::ResourceExhausted;
  if (kind == "28" || state == "42501") return ErrorCode::PermissionDenied;
  if (state == "3D000") return ErrorCode::NotFound;
  if (kind == "XX" || state == "58P01") return ErrorCode::Corrupt;
  // The connection failed; the server is read-only, full, stopping or starting, or was too slow.
  const bool is_away = kind == "08" || kind == "25" || kind == "40" || kind == "53" ||
                       kind == "55" || kind == "57" || kind == "58" || state.empty();
  return is_away ? ErrorCode::Unavailable : ErrorCode::Internal;
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  for (char& letter : text)
    if (letter == '\n' || letter == '\t') letter = ' ';
  return text;
}

}  // namespace

std::string PostgresAnswer::error_field(int field) const {
  const char* text = libpq_->result_error_field(result_.get(), field);
  return text != nullptr ? text : std::string();
}

std::int64_t PostgresAnswer::changed() const {
  const std::string_view digits = libpq_->changed_rows(result_.get());
  std::int64_t count = 0;  // stays 0 for statements that change no rows
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return count;
}

void PostgresAnswer::visit(const Database::Visitor& visitor) const {
  const int rows = libpq_->count_rows(result_.get());
  for (int row = 0; row < rows; ++row)
    visitor(PostgresRow(*libpq_, *result_, row));
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(const std::string& url,
                                                                     const Deadline& deadline) {
  const Libpq& libpq = *TRY(Libpq::load());
  // A later setting wins, so the URL wins over those before it. With several hosts, libpq looks for
  // the one that can write. Keepalives find a server whose machine is gone.
  constexpr std::array kNames{"fallback_application_name",
                              "target_session_attrs",
                              "keepalives_idle",
                              "keepalives_interval",
                              "keepalives_count",
                              "dbname",
                              static_cast<const char*>(nullptr)};
  const std::array<const char*, kNames.size()> values{"nutshelld", "read-write", "10",   "5",
                                                      "3",         url.c_str(),  nullptr};
  constexpr int kTakesUrl = 1;
  PgConnection* raw = libpq.connect_start_params(kNames.data(), values.data(), kTakesUrl);
  if (raw == nullptr) return failure(ErrorCode::ResourceExhausted, "PostgreSQL: no memory");
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(libpq, raw));
  TRY(connection->finish_connecting(deadline));
  libpq.set_notice_processor(
      raw, [](void*, const char*) {}, nullptr);
  if (libpq.set_nonblocking(raw, 1) != 0) return connection->lost();
  return connection;
}

Result<> PostgresConnection::finish_connecting(const Deadline& deadline) {
  // The first wait is for writing, as libpq's manual says.
  for (int state = kPgPollingWriting; state != kPgPollingOk;) {
    if (state == kPgPollingFailed || libpq_.socket(connection_.get()) < 0) return lost();
    TRY(wait_for(state == kPgPollingReading ? POLLIN : POLLOUT, deadline));
    state = libpq_.connect_poll(connection_.get());
  }
  return {};
}

Result<> PostgresConnection::wait_for(short events, const Deadline& deadline) {
  struct pollfd wanted {
    libpq_.socket(connection_.get()), events, 0
  };
  for (;;) {
    const int ready = ::poll(&wanted, 1, deadline.poll_timeout());
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return syscall_failure("poll", "PostgreSQL");
    if (ready == 0 && deadline.has_passed()) {
      is_lost_ = true;
      return failure(ErrorCode::Unavailable, "PostgreSQL: no answer in time");
    }
  }
}

bool PostgresConnection::is_usable() {
  if (is_lost_) return false;
  struct pollfd input {
    libpq_.socket(connection_.get()), POLLIN, 0
  };
  // Between statements the server says little: that it ends, which the end of the stream follows,
  // or something to be ignored.
  constexpr int kMostReads = 16;
  for (int read = 0; read < kMostReads && !is_lost_ && ::poll(&input, 1, 0) > 0; ++read)
    is_lost_ = libpq_.consume_input(connection_.get()) == 0;
  if (libpq_.status(connection_.get()) != kPgConnectionOk) is_lost_ = true;
  return !is_lost_;
}

Failure PostgresConnection::lost() {
  is_lost_ = true;
  return failure(ErrorCode::Unavailable,
                 fmt::format("PostgreSQL: {}", one_line(libpq_.error_message(connection_.get()))));
}

Result<> PostgresConnection::send(const Deadline& deadline) {
  for (;;) {
    const int left = libpq_.flush(connection_.get());
    if (left < 0) return lost();
    if (left == 0) return {};
    // The server may want to be read from before it reads on.
    TRY(wait_for(POLLIN | POLLOUT, deadline));
    if (libpq_.consume_input(connection_.get()) == 0) return lost();
  }
}

// Returns the one answer of the statement that was sent, as a failure if it says so.
Result<PostgresAnswer> PostgresConnection::receive(const Deadline& deadline) {
  TRY(send(deadline));
  std::optional<PostgresAnswer> last;
  for (;;) {
    while (libpq_.is_busy(connection_.get()) != 0) {
      TRY(wait_for(POLLIN, deadline));
      if (libpq_.consume_input(connection_.get()) == 0) return lost();
    }
    PgResult* next = libpq_.get_result(connection_.get());
    if (next == nullptr) break;
    last.emplace(libpq_, next);
  }
  if (!last) return lost();
  if (last->status() != kPgCommandOk && last->status() != kPgTuplesOk) return failure_of(*last);
  return std::move(*last);
}

Failure PostgresConnection::failure_of(const PostgresAnswer& answer) {
  const std::string state = answer.error_field(kPgFieldState);
  const std::string message = answer.error_field(kPgFieldMessage);
  // Another host of the URL may be the one that can write now.
  if (state == "25006" || state.starts_with("57P")) is_lost_ = true;
  if (message.empty()) return lost();
  return failure(code_of_state(state), fmt::format("PostgreSQL: {}", one_line(message)));
}

Result<std::string> PostgresConnection::name_of(const std::string& sql,
                                                const std::vector<Value>& values,
                                                const Deadline& deadline) {
  const auto found = prepared_.find(sql);
  if (found != prepared_.end()) return found->second;
  std::string name = fmt::format("s{}", prepared_.size());
  const Parameters given(values);
  if (libpq_.send_prepare(connection_.get(), name.c_str(), sql.c_str(), given.count(),
                          given.types.data()) == 0)
    return lost();
  TRY(receive(deadline));
  prepared_.emplace(sql, name);
  return name;
}

Result<PostgresAnswer> PostgresConnection::run_prepared(const std::string& sql,
                                                        const std::vector<Value>& values,
                                                        const Deadline& deadline) {
  const std::string name = TRY(name_of(sql, values, deadline));
  const Parameters given(values);
  if (libpq_.send_query_prepared(connection_.get(), name.c_str(), given.count(),
                                 given.pointers.data(), given.lengths.data(), given.formats.data(),
                                 kBinary) == 0)
    return lost();
  return receive(deadline);
}

Result<PostgresAnswer> PostgresConnection::run_once(const std::string& sql,
                                                    const Deadline& deadline) {
  if (libpq_.send_query_params(connection_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr,
                               nullptr, kBinary) == 0)
    return lost();
  return receive(deadline);
}

}  // namespace nutshell::service
