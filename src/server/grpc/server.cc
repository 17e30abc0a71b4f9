#include "server/grpc/server.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/guarded.h"
#include "base/socket.h"
#include "base/tcp_owner.h"
#include "http/shares.h"
#include "http/worker_pool.h"
#include "server/grpc/open_sockets.h"
#include "server/grpc/reactor.h"
#include "service/evidence/operations.h"
#include "service/health.h"

namespace nutshell::server {
namespace {

constexpr const char* kServiceName = "nutshell.v1.Nutshell";
constexpr int kMostStreams = 256;  // of one connection at once
constexpr int kTickMs = 1000;
constexpr std::size_t kMostCalls = 8192;        // at once, working and waiting
constexpr std::size_t kMostWaitingCalls = 256;  // for one tenant, besides those that run
constexpr std::size_t kKeptCalls = 16;          // that each tenant can always have
constexpr std::size_t kMostMetadataBytes = 32U << 10U;
constexpr std::size_t kMostMemoryBytes = 1U << 30U;  // of all calls' messages together

grpc::StatusCode status_of(const Error& error) {
  return static_cast<grpc::StatusCode>(forms_of(error.code).grpc_status);
}

// Registers all methods by name as streams of bytes; the handler decides whether a method is unary.
// Generated code does the same for each method.
class Surface : public grpc::Service {
 public:
  using Begin =
      std::function<std::shared_ptr<Reactor>(grpc::CallbackServerContext&, const Method&)>;
  Surface(const std::vector<Method>& methods, const Begin& begin) {
    using Bytes = grpc::ByteBuffer;
    names_.reserve(methods.size());  // gRPC keeps pointers to them
    for (std::size_t i = 0; i < methods.size(); ++i) {
      names_.push_back(fmt::format("/{}/{}", methods[i].service, methods[i].name));
      AddMethod(new grpc::internal::RpcServiceMethod(
          names_.back().c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
      MarkMethodRawCallback(
          static_cast<int>(i),
          new grpc::internal::CallbackBidiHandler<Bytes, Bytes>(
              [begin, &method = methods[i]](grpc::CallbackServerContext* context) {
                return begin(*context, method).get();  // it holds itself
              }));
    }
  }

 private:
  std::vector<std::string> names_;
};

Result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(const GrpcTls& tls) {
  if (tls.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      tls.client_authority.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                   : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_key_cert_pairs.push_back({TRY(read_file(tls.key)), TRY(read_file(tls.certificate))});
  if (!tls.client_authority.empty()) {
    options.pem_root_certs = TRY(read_file(tls.client_authority));
  }
  return grpc::SslServerCredentials(options);
}

class Running : public GrpcServer {
 public:
  Running(GrpcOptions options, std::vector<Method> methods)
      : options_(std::move(options)),
        methods_(std::move(methods)),
        surface_(methods_, beginner()),
        more_surface_(options_.more_methods, beginner()),
        workers_(std::make_unique<http::WorkerPool>(
            http::WorkerBounds{options_.limits.workers, options_.limits.workers_of_tenant})),
        local_connections_({options_.limits.connections, options_.limits.connections}),
        remote_connections_({options_.limits.connections, options_.limits.connections_of_stranger}),
        calls_of_({kMostCalls, options_.limits.workers_of_tenant + kMostWaitingCalls, kKeptCalls}),
        messages_of_({options_.limits.body_bytes, options_.limits.body_bytes_of_tenant,
                      options_.most_message_bytes}),
        stop_(::eventfd(0, EFD_CLOEXEC)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() override { (void)Running::drain(Deadline::in(std::chrono::seconds(0))); }

  Result<> open();
  bool drain(const Deadline& deadline) override;

 private:
  Surface::Begin beginner() {
    return [this](grpc::CallbackServerContext& context, const Method& method) {
      return begin(context, method);
    };
  }
  void set_bounds(grpc::ServerBuilder& builder) const;
  std::shared_ptr<Reactor> begin(grpc::CallbackServerContext& context, const Method& method);
  void serve(Reactor& call);
  grpc::StatusCode answer(Reactor& call);
  Result<> handle(Reactor& call);
  void admit(const std::shared_ptr<Reactor>& call);
  void refuse(Reactor& call, const Error& refusal);

  void keep_watch();
  UniqueFd accept_on(int listener, OpenSockets& connections);
  void accept_local();
  void accept_remote();
  void accept_own_user();
  void take_over(UniqueFd connection, const Result<Peer>& peer, const char* where);
  void tick();
  enum class Rules : std::uint8_t { Same, New };
  bool is_outlived(const Reactor& call, Rules rules) const;

  GrpcOptions options_;
  const std::vector<Method> methods_;
  Surface surface_;
  Surface more_surface_;
  std::unique_ptr<http::WorkerPool> workers_;
  Guarded<std::map<Reactor*, std::weak_ptr<Reactor>>> calls_;
  Guarded<std::map<int, Peer>> peers_;  // by the descriptor of their connection
  OpenSockets local_connections_;
  OpenSockets remote_connections_;
  http::Shares calls_of_;         // each tenant
  http::Shares messages_of_;      // their bytes
  std::uint64_t generation_ = 0;  // of the gate's rules; of the watching thread
  UniqueFd stop_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::thread watch_;
};

void Running::set_bounds(grpc::ServerBuilder& builder) const {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options_.most_message_bytes));
  builder.SetResourceQuota(grpc::ResourceQuota("nutshelld").Resize(kMostMemoryBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(kMostMetadataBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(options_.idle_time.count()));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options_.first_time.count()));
}

Result<> Running::open() {
  // Silences gRPC's own log, which clients could fill.
  gpr_set_log_function([](gpr_log_func_args*) {});
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.RegisterService(&surface_);
  if (!options_.more_methods.empty()) builder.RegisterService(&more_surface_);
  set_bounds(builder);
  if (options_.tcp) {
    TRY(set_nonblocking(options_.tcp.get()));
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        TRY(credentials_of(options_.tls)));
  }
  server_ = builder.BuildAndStart();
  if (!server_) {
    return failure(ErrorCode::Unavailable,
                   "gRPC: it does not start: perhaps the certificate and key do not fit");
  }
  tick();
  watch_ = std::thread([this] { keep_watch(); });
  return {};
}

std::shared_ptr<Reactor> Running::begin(grpc::CallbackServerContext& context,
                                        const Method& method) {
  Reactor::Setup setup;
  setup.method = &method;
  setup.stall_time = options_.stall_time;
  setup.local_peer = [this](int descriptor) {
    return peers_.with([&](const auto& peers) {
      const auto found = peers.find(descriptor);
      return found == peers.end() ? std::nullopt : std::optional(found->second);
    });
  };
  setup.on_first = [this](const std::shared_ptr<Reactor>& call) {
    if (workers_->submit(call->admission(), [this, call] { serve(*call); })) return;
    call->finish(grpc::StatusCode::RESOURCE_EXHAUSTED,
                 {ErrorCode::ResourceExhausted, "too many calls at once; try again"});
  };
  setup.on_done = [this](Reactor* call) { calls_.with([&](auto& calls) { calls.erase(call); }); };
  auto call = Reactor::begin(context, std::move(setup));
  calls_.with([&](auto& calls) { calls.emplace(call.get(), call); });
  admit(call);
  return call;
}

// Admits the caller before anything is read, so that a refused call costs no memory.
void Running::admit(const std::shared_ptr<Reactor>& call) {
  const std::string* authorization = call->metadata("authorization");
  auto caller = options_.gate.admit(call->remote(), authorization);
  const http::Admission admission = options_.gate.admission_of(call->remote(), authorization);
  if (caller) {
    Reactor::Shares shares{{calls_of_, admission}, {messages_of_, admission}};
    if (!shares.call.take(1)) {
      return call->finish(grpc::StatusCode::RESOURCE_EXHAUSTED,
                          {ErrorCode::ResourceExhausted, "too many calls at once; try again"});
    }
    if (!call->remote().address.empty()) remote_connections_.know(call->remote().address);
    return call->start_reading(std::move(*caller), admission, std::move(shares));
  }
  const Error& refusal = caller.error();
  if (workers_->submit(admission, [this, call, refusal] { refuse(*call, refusal); })) return;
  call->finish(status_of(refusal), refusal);  // without a record
}

void Running::refuse(Reactor& call, const Error& refusal) {
  const std::string& address = call.remote().address;
  // A barred address would fill the record.
  if (refusal.code != ErrorCode::ResourceExhausted) {
    options_.service.operations().deny({"", address.empty() ? "socket" : address}, refusal.message);
  }
  const auto status = status_of(refusal);
  call.finish(status, refusal);
  Answered answered;
  answered.method = "gRPC";
  answered.path = call.method().name;
  answered.status = status;
  options_.log(answered);
}

Result<> Running::handle(Reactor& call) {
  const auto request = call.method().make_request();
  const auto reply = call.method().make_reply();
  if (TRY(call.read(*request, Deadline::never())) != Rpc::Next::Message) {
    return failure(ErrorCode::InvalidArgument, "the call has no message");
  }
  RpcCall rpc{call, options_.service, call.caller(), *request, *reply, options_.more_metrics};
  TRY(call.method().handle(rpc));
  call.finish(call.method().streams_reply ? nullptr : reply.get());
  return {};
}

grpc::StatusCode Running::answer(Reactor& call) {
  const auto done = handle(call);
  if (done) return grpc::StatusCode::OK;
  const auto& own = call.method().status_of;
  const auto status =
      own ? static_cast<grpc::StatusCode>(own(done.error())) : status_of(done.error());
  call.finish(status, done.error());
  return status;
}

void Running::serve(Reactor& call) {
  const auto begin = Clock::now();
  const std::string* parent = call.metadata("traceparent");
  telemetry::Activity activity(options_.spans, parent == nullptr ? std::string_view() : *parent,
                               fmt::format("{}/{}", call.method().service, call.method().name));
  Answered answered;
  answered.method = "gRPC";
  answered.path = call.method().name;
  answered.who = call.caller().who;
  answered.tenant = call.caller().tenant;
  answered.status = answer(call);
  answered.duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  activity.add("rpc.system", "grpc");
  activity.add("rpc.grpc.status_code", std::int64_t{answered.status});
  activity.add("nutshell.tenant", std::string(answered.tenant));
  if (answered.status == grpc::StatusCode::INTERNAL) activity.fail();
  options_.log(answered);
}

// Accepts connections itself, because only then the peer of a Unix socket is known and the number
// of connections bounded. Also ends calls that do not begin, and updates the health service.
void Running::keep_watch() {
  auto ticked = Clock::now();
  for (;;) {
    std::array<pollfd, 4> watched = {
        pollfd{stop_.get(), POLLIN, 0}, pollfd{options_.socket.get(), POLLIN, 0},
        pollfd{options_.tcp.get(), POLLIN, 0}, pollfd{options_.own_users_tcp.get(), POLLIN, 0}};
    const int count = ::poll(watched.data(), watched.size(), kTickMs);
    if (watched[0].revents != 0) return;
    if (count > 0 && watched[1].revents != 0) accept_local();
    if (count > 0 && watched[2].revents != 0) accept_remote();
    if (count > 0 && watched[3].revents != 0) accept_own_user();
    if (Clock::now() - ticked < std::chrono::milliseconds(kTickMs)) continue;
    tick();
    ticked = Clock::now();
  }
}

// nullopt if there is no connection, or too many are open.
UniqueFd Running::accept_on(int listener, OpenSockets& connections) {
  UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  // Out of descriptors: the connection stays in the queue, and this thread must not spin on it.
  if (!connection && (errno == EMFILE || errno == ENFILE)) ::usleep(10'000);
  if (connection && !connections.add(connection.get(), http::remote_of(connection.get())))
    return {};
  return connection;
}

void Running::accept_remote() {
  UniqueFd connection = accept_on(options_.tcp.get(), remote_connections_);
  if (!connection) return;
  const int yes = 1;
  (void)::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters accepted;
  accepted.listener_fd = options_.tcp.get();
  accepted.fd = connection.release();
  acceptor_->HandleNewConnection(&accepted);
}

void Running::accept_local() {
  UniqueFd connection = accept_on(options_.socket.get(), local_connections_);
  if (!connection) return;
  const auto peer = peer_of(connection.get());
  take_over(std::move(connection), peer, "gRPC socket");
}

void Running::accept_own_user() {
  UniqueFd connection = accept_on(options_.own_users_tcp.get(), local_connections_);
  if (!connection) return;
  const int yes = 1;
  (void)::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const auto user = owner_of_peer(connection.get());
  take_over(std::move(connection),
            user ? Result<Peer>(Peer{*user, 0, 0}) : Result<Peer>(Failure(user.error())),
            "gRPC port for this user");
}

// Hands a connection to gRPC if its peer belongs to us or root.
void Running::take_over(UniqueFd connection, const Result<Peer>& peer, const char* where) {
  if (!peer || (peer->user != 0 && peer->user != ::geteuid())) {
    options_.service.operations().deny({"", peer ? fmt::format("uid {}", peer->user) : "socket"},
                                       fmt::format("another user on the {}", where));
    return;
  }
  peers_.with([&](auto& peers) { peers[connection.get()] = *peer; });
  grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
}

void Running::tick() {
  const bool is_well = options_.service.health().why_not_ready().empty();
  server_->GetHealthCheckService()->SetServingStatus(is_well);
  server_->GetHealthCheckService()->SetServingStatus(kServiceName, is_well);
  std::vector<std::shared_ptr<Reactor>> all;
  calls_.with([&](const auto& calls) {
    for (const auto& [ignored, call] : calls)
      all.push_back(call.lock());
  });
  const std::uint64_t generation = options_.gate.generation();
  const bool is_same = std::exchange(generation_, generation) == generation;
  for (const auto& call : all) {
    const auto since = call ? call->waits_since() : std::nullopt;
    if (since && Clock::now() - *since > options_.first_time) call->cancel();
    if (call && is_outlived(*call, is_same ? Rules::Same : Rules::New)) call->cancel();
  }
}

// Whether the token or certificate of a call is not valid any more.
bool Running::is_outlived(const Reactor& call, Rules rules) const {
  if (call.remote().has_expired()) return true;
  if (rules == Rules::Same || call.admission().caller_kind == http::CallerKind::Stranger)
    return false;
  return options_.gate.admission_of(call.remote(), call.metadata("authorization")) !=
         call.admission();
}

bool Running::drain(const Deadline& deadline) {
  if (!server_) return true;
  if (watch_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    watch_.join();
  }
  server_->GetHealthCheckService()->Shutdown();
  options_.socket.reset();
  options_.tcp.reset();
  options_.own_users_tcp.reset();
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(deadline.poll_timeout()));
  const bool is_clean = !deadline.has_passed();
  workers_.reset();
  server_.reset();
  return is_clean;
}

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(GrpcOptions options) {
  auto methods = TRY(all_methods());
  auto server = std::make_unique<Running>(std::move(options), std::move(methods));
  TRY(server->open());
  return server;
}

}  // namespace nutshell::server
