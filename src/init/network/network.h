// The network of a sandbox, seen from inside: takes the connections and look-ups of commands, asks
// the host, and carries what it allows. The host decides about everything; and the sandbox has no
// interface but loopback, so that a command which deceives init gets nowhere.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "init/exec/connect_watch.h"
#include "init/exec/process_marks.h"
#include "init/network/carrier.h"
#include "init/network/egress_conversation.h"
#include "init/network/junction.h"
#include "init/network/name_server.h"
#include "init/network/proxy_handshake.h"
#include "init/network/target.h"
#include "wire/network_schema.h"

namespace nutshell::init {

class Network {
 public:
  struct Setup {
    wire::NetworkWay way = wire::NetworkWay::Notification;
    UniqueFd name_datagrams;  // bound to port 53 of loopback; not open: it binds them itself
    UniqueFd name_listener;
    // Called for a refused connection, with the mark of the command, or kAnyMark.
    std::function<void(Mark, const std::string& reason)> note_refusal;
    // Runs a task where it may look into all commands; empty: that is so everywhere.
    std::function<void(const std::function<void()>& task)> run_unrestricted;
  };
  static Result<std::unique_ptr<Network>> create(Setup setup);
  Network(Network&&) = delete;
  Network& operator=(Network&&) = delete;
  ~Network();

  // For commands that start: a watch, if the way is Notification, and variables.
  [[nodiscard]] ConnectWatch watch();
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

  [[nodiscard]] int descriptor() const { return events_.get(); }
  [[nodiscard]] Deadline deadline() const;
  void progress();

  // Begins the conversation with the host; an earlier one ends.
  std::unique_ptr<Conversation> open(std::uint32_t conversation, const wire::Egress& egress);

  // For that conversation.
  Result<> take(const wire::Frame& frame);
  void lose_host();
  // Writes the next frame with bytes of a flow; false if there are none.
  bool next_bytes(std::string& frame);

 private:
  struct Watch {
    UniqueFd calls;
    Mark mark;
  };
  // A connect() that the kernel holds until init answers.
  struct Attempt {
    std::uint64_t watch = 0;
    std::uint64_t call = 0;
    Mark mark = 0;
    UniqueFd socket;  // of the command
    Target target;
    bool may_not_wait = false;  // the socket is non-blocking
    bool is_answered = false;
    std::string name;  // of the socket, while it is being joined
  };
  // A client of the proxy that has not got its connection yet.
  struct Client {
    UniqueFd socket;
    ProxyHandshake handshake;
  };
  struct Flow {
    enum class State {
      Greeting,  // a client of the proxy has not said yet what it wants
      Direct,    // connects to a server inside
      Asked,     // the host decides
      Joining,   // the command's socket connects to init's listener
      Joined,    // ahead of the host's decision
      Carried,
      HandedOver,  // the relay has the socket
    };
    State state = State::Asked;
    std::optional<Attempt> attempt;
    std::unique_ptr<Client> client;  // instead of an attempt
    UniqueFd joined;                 // init's end, until it is carried
    bool is_opened = false;          // by the host
    std::unique_ptr<Carrier> carrier;
  };
  using Flows = std::unordered_map<std::uint32_t, Flow>;
  struct Timer {
    Deadline deadline;
    std::uint32_t flow;
  };

  Network() = default;
  Result<> prepare(Setup setup);
  void add_watch(Mark mark);
  bool listen_to(int descriptor, std::uint64_t tag, std::uint32_t events);
  void stop_listening(int descriptor);
  void handle(std::uint64_t tag, std::uint32_t events);
  void check_timers();
  void check_impatient();
  void check_joins();
  void check_greetings();
  void give_up_host();

  // Calls of commands.
  void take_call(std::uint64_t number);
  void drop_watch(std::uint64_t number);
  bool is_pending(const Attempt& attempt) const;
  void answer(Attempt& attempt, int error_number);
  void pass_to_kernel(const Attempt& attempt);
  void begin(Attempt attempt);
  void connect_inside(Attempt attempt);
  void finish_inside(std::uint32_t number);
  std::uint32_t add_flow(Flow flow);
  void ask(std::uint32_t number, Flow& flow);
  void refuse(Attempt& attempt, int error_number, const std::string& reason);

  // Clients of the proxy.
  Result<> open_proxy();
  void accept_client();
  void serve_client(std::uint32_t number);
  void open_client(std::uint32_t number, const wire::FlowOpened& opened);
  void refuse_client(Flow& flow, int error_number, bool is_refusal, const std::string& reason);
  [[nodiscard]] static wire::OpenFlow question_of(std::uint32_t number, const Flow& flow);

  // Messages of the host.
  Result<> take_resolved(const wire::Frame& frame);
  Result<> take_opened(const wire::Frame& frame);
  Result<> take_bytes(const wire::Frame& frame);
  Result<> take_end(const wire::Frame& frame);
  Result<> take_reset(const wire::Frame& frame);

  // From the decision to the bytes.
  void join(std::uint32_t number, Flow& flow);
  void accept_joined(int listener);
  void become_joined(std::uint32_t number, UniqueFd socket);
  void start_carrying(std::uint32_t number, Flow& flow);
  bool hand_over(std::uint32_t number, int socket);
  void queue(std::uint32_t number, Carrier& carrier);
  void drop(std::uint32_t number, const std::string& reason);
  void erase(Flows::iterator flow);

  template <typename Message>
  void tell(Message message) {
    if (host_ != nullptr) host_->send(std::move(message));
  }

  std::function<void(Mark, const std::string&)> note_refusal_;
  std::function<void(const std::function<void()>&)> run_unrestricted_;
  UniqueFd events_;
  UniqueFd sender_;    // commands send the descriptors of their calls here
  UniqueFd receiver_;  // and they arrive here
  wire::NetworkWay way_ = wire::NetworkWay::Notification;
  std::vector<std::string> variables_;
  UniqueFd proxy_;
  std::optional<Junction> junction_;
  std::optional<NameServer> names_;
  std::map<std::uint64_t, Watch> watches_;
  std::uint64_t last_watch_ = 0;
  Flows flows_;
  std::uint32_t last_flow_ = 0;
  std::size_t attempts_ = 0;                                // flows with an attempt or a client
  std::unordered_map<std::string, std::uint32_t> joining_;  // by the name of the socket
  std::deque<std::uint32_t> readable_;
  std::deque<Timer> impatient_;                    // attempts of non-blocking sockets
  std::deque<Timer> joins_;                        // joins must not take long
  std::deque<Timer> greetings_;                    // nor may clients of the proxy
  std::map<std::string, Deadline> refused_names_;  // a short time ago
  EgressConversation* host_ = nullptr;
  Deadline host_grace_ = Deadline::never();  // how long attempts wait for a host that is not there
  UniqueFd door_;
  bool has_door_ = false;  // the relay has the other end of `door_`
};

}  // namespace nutshell::init
