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

using Intake = Connection::Intake;

// How long a worker that has nothing else to do stays with a connection: most clients ask again
// soon, and then no other thread has to wake up.
constexpr int kStayMs = 20;

class ThreadedServer : public Server {
 public:
  ThreadedServer(Handler handler, const ServerLimits& limits)
      : handler_(std::move(handler)),
        limits_(limits),
        workers_(std::make_unique<WorkerPool>(
            limits.workers,
            [this](std::unique_ptr<Connection> connection) { serve(std::move(connection)); })) {}
  ThreadedServer(const ThreadedServer&) = delete;
  ThreadedServer& operator=(const ThreadedServer&) = delete;

  ~ThreadedServer() override {
    ThreadedServer::drain(Deadline::in({}));
    if (poller_) poller_->end();  // it calls the workers, and they call it
    workers_->finish();  // both are reached through this object until the last worker is gone
    poller_.reset();
  }

  Result<> begin(std::vector<Endpoint> endpoints) {
    poller_ = TRY(Poller::create(std::move(endpoints), limits_,
                                 [this](std::unique_ptr<Connection> connection) {
                                   return dispatch(std::move(connection));
                                 }));
    poller_->start();
    return {};
  }

  bool drain(const Deadline& deadline) override {
    is_stopping_ = true;
    if (poller_) poller_->stop_accepting();
    if (workers_->wait_until_idle(deadline)) return true;
    active_.with([](const Active& sockets) {
      for (const auto& [connection, socket] : sockets)
        ::shutdown(socket, SHUT_RDWR);
    });
    return false;
  }

  [[nodiscard]] ServerFigures figures() const override {
    const WorkerPool::Figures pool = workers_->figures();
    return {poller_->connections, pool.threads, pool.busy, requests_, poller_->refused};
  }

 private:
  using Active = std::map<const Connection*, int>;  // and its socket

  // On the poller's thread.
  std::unique_ptr<Connection> dispatch(std::unique_ptr<Connection> connection);
  // Until the connection ends, is upgraded, or has nothing to ask for a while.
  void serve(std::unique_ptr<Connection> connection);
  // Whether the connection can be asked again.
  bool serve_one(Connection& connection, std::chrono::milliseconds stall_time);
  Intake wait_for_next(Connection& connection);
  void end(std::unique_ptr<Connection> connection);

  const Handler handler_;
  const ServerLimits limits_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> requests_{0};
  Guarded<Active> active_;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<WorkerPool> workers_;
};

std::unique_ptr<Connection> ThreadedServer::dispatch(std::unique_ptr<Connection> connection) {
  const RequestHead& head = connection->head();
  const bool has_body = head.is_chunked || head.content_length.value_or(0) > 0;
  if (has_body || !limits_.are_quick || !limits_.are_quick(head))
    return workers_->submit(std::move(connection));
  // A client that takes no answer is not waited for: all others would wait, too.
  if (!serve_one(*connection, std::chrono::milliseconds(0))) {
    end(std::move(connection));
    return nullptr;
  }
  connection->begin_next();
  poller_->hold(std::move(connection));
  return nullptr;
}

void ThreadedServer::serve(std::unique_ptr<Connection> connection) {
  for (;;) {
    if (!serve_one(*connection, limits_.stall_time)) return end(std::move(connection));
    connection->begin_next();
    if (wait_for_next(*connection) == Intake::Request) continue;
    connection->forget_hang_up();  // there are many connections, and few descriptors
    // Whatever else it is, the poller finds out the same way.
    return poller_->hold(std::move(connection));
  }
}

bool ThreadedServer::serve_one(Connection& connection, std::chrono::milliseconds stall_time) {
  ++requests_;
  const int socket = connection.transport().descriptor();
  active_.with([&](Active& sockets) { sockets.emplace(&connection, socket); });
  Exchange exchange(connection, {stall_time, true, &is_stopping_, workers_.get()});
  handler_(exchange);
  active_.with([&](Active& sockets) { sockets.erase(&connection); });
  if (connection.is_released()) return false;
  if (!exchange.is_answered()) {
    (void)exchange.respond(500, {}, "");  // a client that is gone gets nothing
  }
  if (exchange.is_streaming()) return false;  // cut off, and the client is to notice
  return exchange.keeps_alive();
}

Intake ThreadedServer::wait_for_next(Connection& connection) {
  Intake intake = connection.advance();
  if (intake != Intake::WantsRead || workers_->has_waiting() || is_stopping_) return intake;
  pollfd watched{connection.transport().descriptor(), POLLIN, 0};
  if (::poll(&watched, 1, kStayMs) > 0) intake = connection.advance();
  return intake;
}

void ThreadedServer::end(std::unique_ptr<Connection> connection) {
  if (connection->is_released()) {
    --poller_->connections;
    return;
  }
  connection->begin_lingering();
  poller_->hold(std::move(connection));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(std::vector<Endpoint> endpoints, Handler handler,
                                              const ServerLimits& limits) {
  auto server = std::make_unique<ThreadedServer>(std::move(handler), limits);
  TRY(server->begin(std::move(endpoints)));
  return server;
}

}  // namespace nutshell::http
