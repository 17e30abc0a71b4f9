// The Model Context Protocol on the server's side, for any host and any transport: the stateless
// revision 2026-07-28 and those with a handshake before it, told apart message by message.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/mcp/channel.h"
#include "server/mcp/host.h"
#include "server/mcp/progress_clock.h"
#include "server/mcp/running_call.h"
#include "server/mcp/session.h"
#include "server/mcp/tasks.h"

namespace nutshell::mcp {

// Newest first.
const std::vector<std::string>& session_revisions();

// How far the transport has settled the revision of the protocol.
enum class ProtocolForm : std::uint8_t {
  Unknown,    // the message tells
  Stateless,  // a message without _meta is an error
};

class Server {
 public:
  explicit Server(Host& host);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  struct Connection {
    std::shared_ptr<Session> session;
    std::shared_ptr<Channel> channel;
    ProtocolForm form = ProtocolForm::Unknown;
  };
  using CallPointer = std::shared_ptr<RunningCall>;
  // Answers quick requests at once. Returns slow ones, for run() on a thread that may wait.
  CallPointer begin(const Connection& connection, Message message);
  void run(const CallPointer& call);

  // A subscription stays open without a thread: it ends when it is cancelled, or with
  // end_listening.
  [[nodiscard]] static bool is_subscription(const RunningCall& call);
  void end_listening(const CallPointer& call);
  // Ends all calls of a session, which hold the session until then.
  void end_subscriptions(const Session& session);

  void tell_changed(Listing listing);
  void tell_resource_changed(const std::string& uri);

  [[nodiscard]] Host& host() { return host_; }

 private:
  struct Method;
  struct Methods;  // one function for each method
  struct Listener {
    CallPointer call;
    bool tools = false;
    bool prompts = false;
    bool resources = false;
    std::vector<std::string> uris;
  };

  CallPointer begin_request(const Connection& connection, Message message);
  void take_notification(const Connection& connection, const Message& message);
  std::variant<RunningCall::Origin, Problem> origin_of(const Connection& connection,
                                                       const Message& message);
  const Method* find(const RunningCall& call) const;
  void finish(RunningCall& call, const Reply& reply);
  [[nodiscard]] std::string envelope(const RunningCall& call, const Answer& answer) const;
  [[nodiscard]] std::string capabilities_of(const Client& client) const;
  Reply answer(const CallPointer& call);
  Reply listen(const CallPointer& call);

  Host& host_;
  Description description_;
  std::string server_info_;  // JSON
  ProgressClock clock_;
  std::mutex mutex_;
  std::vector<Listener> listeners_;
  Tasks tasks_;  // last: its threads use the members above
};

}  // namespace nutshell::mcp
