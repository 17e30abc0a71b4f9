// Messages of the DNS (RFC 1035), as far as init understands them: one question of the class IN. It
// asks the host for addresses only, so no other record can carry data out of a sandbox.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::init {

enum class NameCode : std::uint8_t {
  Good = 0,
  Malformed = 1,
  ServerFailure = 2,
  NoSuchName = 3,
  NotImplemented = 4,
};

struct NameQuery {
  std::uint16_t number = 0;
  bool wants_recursion = false;
  std::string question;  // its bytes, which the answer repeats
  std::string name;      // without the final dot
  std::uint16_t type = 0;
  // Whether only the host can answer it; otherwise the answer is `code`, without records.
  bool is_for_host = false;
  NameCode code = NameCode::Good;
};

// nullopt: nothing that could be answered.
std::optional<NameQuery> parse_name_query(std::string_view packet);

// Addresses that do not fit into the query's type or into 512 bytes are left out.
std::string write_name_answer(const NameQuery& query, NameCode code, std::uint32_t seconds_to_live,
                              const std::vector<std::string>& addresses);

// Whether the name is one of loopback's, which needs no host.
bool is_local_name(std::string_view name);

}  // namespace nutshell::init
