#include "http/server.h"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <map>

#include "base/defer.h"
#include "base/guarded.h"
#include "http/poller.h"
#include "http/worker_pool.h"

namespace nutshell::http {
namespace {

using RequestState = Connection::RequestState;

// How long an idle worker waits for the next request of its connection: most clients send one soon,
// and then no other thread has to wake up. The shorter time holds for a worker that counts against
// its holder's bound while it waits.
constexpr int kStayMs = 200;
constexpr int kCountedStayMs = 20;
constexpr std::size_t kKeptBodyBytes = 1U << 20U;  // always available to each client's bodies

class ThreadedServer : public Server {
 public:
  ThreadedServer(Handler handler, const ServerLimits& limits)
      : handler_(std::move(handler)),
        limits_(limits),
        bodies_({limits.body_bytes, limits.body_bytes_of_tenant, kKeptBodyBytes}),
        workers_(
            std::make_unique<WorkerPool>(WorkerBounds{limits.workers, limits.workers_of_tenant})) {}
  ThreadedServer(const ThreadedServer&) = delete;
  ThreadedServer& operator=(const ThreadedServer&) = delete;

  ~ThreadedServer() override {
    ThreadedServer::drain(Deadline::in({}));
    for (const auto& poller : pollers_)
      poller->end();     // pollers and workers call each other
    workers_->finish();  // workers use this object until the last one has ended
    pollers_.clear();
  }

  Result<> begin(std::vector<Endpoint> endpoints) {
    for (Endpoint& endpoint : endpoints) {
      const std::size_t index = pollers_.size();
      pollers_.push_back(TRY(Poller::create(
          std::move(endpoint), limits_,
          [this, index](std::unique_ptr<Connection> connection) {
            return dispatch(*pollers_[index], std::move(connection));
          },
          [this, index] {
            if (index == 0) cut_expired();
          })));
    }
    for (const auto& poller : pollers_)
      poller->start();
    return {};
  }

  bool drain(const Deadline& deadline) override {
    is_stopping_ = true;
    for (const auto& poller : pollers_)
      poller->stop_accepting();
    if (workers_->wait_until_idle(deadline)) return true;
    active_.with([](const Active& sockets) {
      for (const auto& [connection, socket] : sockets)
        ::shutdown(socket, SHUT_RDWR);
    });
    return false;
  }

  [[nodiscard]] ServerFigures figures() const override {
    const WorkerPool::Figures pool = workers_->figures();
    ServerFigures figures{0, pool.threads, pool.busy, requests_, 0};
    for (const auto& poller : pollers_) {
      figures.connections += poller->connections();
      figures.refused += poller->refused;
    }
    return figures;
  }

  void admit_again() override {
    if (!limits_.admit) return;
    cut_if([this](const Connection& one) {
      return limits_.admit(one.head(), one.remote()) != one.admission();
    });
  }

 private:
  using Active = std::map<Connection*, int>;  // a connection and its socket

  // Runs on the poller's thread.
  std::unique_ptr<Connection> dispatch(Poller& poller, std::unique_ptr<Connection> connection);
  // Serves requests until the connection ends, is upgraded, or is idle for a while.
  void serve(Poller& poller, std::unique_ptr<Connection> connection);
  // Returns whether the connection can take another request.
  bool serve_one(Connection& connection, std::chrono::milliseconds stall_time);
  RequestState wait_for_next(Connection& connection);
  static void end(Poller& poller, std::unique_ptr<Connection> connection);
  template <typename Condition>
  void cut_if(const Condition& condition);
  void cut_expired() {
    cut_if([](const Connection& one) { return one.remote().has_expired(); });
  }

  const Handler handler_;
  const ServerLimits limits_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> requests_{0};
  Guarded<Active> active_;
  Shares bodies_;
  // One for each listener, so that listeners do not wait for each other.
  std::vector<std::unique_ptr<Poller>> pollers_;
  std::unique_ptr<WorkerPool> workers_;
};

// While a connection is active, its head and remote do not change and its socket stays open.
template <typename Condition>
void ThreadedServer::cut_if(const Condition& condition) {
  active_.with([&](const Active& sockets) {
    for (const auto& [connection, socket] : sockets) {
      if (connection->is_cut() || !condition(*connection)) continue;
      connection->cut();
      ::shutdown(socket, SHUT_RDWR);
    }
  });
}

std::unique_ptr<Connection> ThreadedServer::dispatch(Poller& poller,
                                                     std::unique_ptr<Connection> connection) {
  if (!limits_.are_quick || !limits_.are_quick(connection->head())) {
    const Admission admission = connection->admission();
    // A shared_ptr, because std::function must be copyable. Taken back if the pool refuses the
    // work.
    const auto held = std::make_shared<std::unique_ptr<Connection>>(std::move(connection));
    const bool is_taken =
        workers_->submit(admission, [this, &poller, held] { serve(poller, std::move(*held)); });
    return is_taken ? nullptr : std::move(*held);
  }
  // Does not wait for a client that reads no answer: all other clients would wait too.
  if (!serve_one(*connection, std::chrono::milliseconds(0))) {
    end(poller, std::move(connection));
    return nullptr;
  }
  connection->begin_next();
  poller.hold(std::move(connection));
  return nullptr;
}

// The worker counts for the holder of the first request, so it goes on only with requests of the
// same holder.
void ThreadedServer::serve(Poller& poller, std::unique_ptr<Connection> connection) {
  const Admission admission = connection->admission();
  const bool is_stranger = admission.caller_kind == CallerKind::Stranger;
  // Does not wait for a stranger that reads no answer.
  const auto stall_time = is_stranger ? std::chrono::milliseconds(0) : limits_.stall_time;
  for (;;) {
    if (!serve_one(*connection, stall_time)) return end(poller, std::move(connection));
    connection->begin_next();
    if (!is_stranger && wait_for_next(*connection) == RequestState::Request &&
        connection->admission() == admission)
      continue;
    connection->forget_hang_up();  // connections are many and descriptors few
    // The poller handles every other outcome of wait_for_next().
    return poller.hold(std::move(connection));
  }
}

bool ThreadedServer::serve_one(Connection& connection, std::chrono::milliseconds stall_time) {
  ++requests_;
  const int socket = connection.transport().descriptor();
  active_.with([&](Active& sockets) { sockets.emplace(&connection, socket); });
  // Nullptr: no body is read.
  BodyWait* body_wait = stall_time.count() > 0 ? workers_.get() : nullptr;
  Exchange exchange(connection, {stall_time, true, &is_stopping_, body_wait, &bodies_});
  handler_(exchange);
  active_.with([&](Active& sockets) { sockets.erase(&connection); });
  if (connection.is_released()) return false;
  if (!exchange.is_answered()) {
    (void)exchange.respond(500, {}, "");  // fails if the client is gone
  }
  // The handler gave up; the client notices by the closed connection.
  if (exchange.is_streaming()) return false;
  return exchange.keeps_alive();
}

RequestState ThreadedServer::wait_for_next(Connection& connection) {
  RequestState state = connection.advance();
  const bool is_wanted = workers_->has_waiting(connection.admission().holder);
  if (state != RequestState::WantsRead || is_wanted || is_stopping_) return state;
  const std::string holder = connection.admission().holder;
  workers_->begin(holder);
  pollfd watched{connection.transport().descriptor(), POLLIN, 0};
  const int stay = workers_->is_excused(holder) ? kStayMs : kCountedStayMs;
  const bool has_news = ::poll(&watched, 1, stay) > 0;
  workers_->end(holder);
  // Other work of the holder may have taken the place meanwhile; then this connection waits its
  // turn.
  if (has_news && workers_->may_go_on(holder)) state = connection.advance();
  return state;
}

void ThreadedServer::end(Poller& poller, std::unique_ptr<Connection> connection) {
  if (connection->is_released()) return;
  connection->begin_lingering();
  poller.hold(std::move(connection));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(std::vector<Endpoint> endpoints, Handler handler,
                                              const ServerLimits& limits) {
  auto server = std::make_unique<ThreadedServer>(std::move(handler), limits);
  TRY(server->begin(std::move(endpoints)));
  return server;
}

}  // namespace nutshell::http
