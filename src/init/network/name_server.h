// Answers the look-ups of names inside a sandbox, on port 53 of loopback. The host resolves.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "init/network/name_message.h"
#include "init/network/target.h"
#include "wire/network_schema.h"

namespace nutshell::init {

class NameServer {
 public:
  // Called to send a question to the host.
  using Ask = std::function<void(std::uint32_t number, const NameQuery& query)>;

  // Takes a bound socket for datagrams and a listening one for streams; opens those that are not
  // open, which fails where users may not use low ports.
  static Result<NameServer> create(UniqueFd datagrams, UniqueFd listener, Ask ask);

  [[nodiscard]] int descriptor() const { return events_.get(); }
  [[nodiscard]] Deadline deadline() const;
  void progress();

  // Sends the questions that wait for an answer, to a host that has not heard them.
  void ask_again();
  // Answers all questions that wait with a failure.
  void fail_all();
  // Returns the name that was asked for; empty for an unknown number.
  std::string answer(const wire::Resolved& resolved);

 private:
  struct Waiting {
    NameQuery query;
    SocketAddress client;      // of a datagram
    std::uint64_t stream = 0;  // or the number of the stream that it came by
    Deadline deadline = Deadline::never();
  };
  struct Stream {
    UniqueFd socket;
    std::string incoming;
    std::string outgoing;
    Deadline deadline = Deadline::never();
    bool is_done = false;
  };

  NameServer() = default;
  void watch(int descriptor, std::uint64_t number, std::uint32_t events);
  void read_datagrams();
  void accept_streams();
  void read_stream(std::uint64_t number, Stream& stream);
  void write_stream(Stream& stream);
  void take(std::string_view packet, Waiting from);
  void reply(const Waiting& to, NameCode code, std::uint32_t seconds_to_live,
             const std::vector<std::string>& addresses);
  void expire();

  UniqueFd events_;
  UniqueFd datagrams_;
  UniqueFd listener_;
  Ask ask_;
  std::map<std::uint32_t, Waiting> waiting_;
  std::map<std::uint64_t, Stream> streams_;
  std::uint32_t last_query_ = 0;
  std::uint64_t last_stream_ = 0;
};

}  // namespace nutshell::init
