// Turns gRPC's callbacks for one call into blocking reads and writes. Include it only in this
// folder: gRPC's headers are slow to compile.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/socket.h"
#include "base/unique_fd.h"
#include "http/shares.h"
#include "server/grpc/methods.h"

namespace nutshell::server {

class Reactor : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>, public Rpc {
 public:
  struct Setup {
    const Method* method = nullptr;
    std::function<void(const std::shared_ptr<Reactor>&)> on_first;  // called with the first message
    std::function<void(Reactor*)> on_done;                          // the last that is heard of it
    std::function<std::optional<Peer>(int descriptor)> local_peer;  // of an accepted connection
    std::chrono::milliseconds stall_time{30'000};
  };
  // Reads nothing yet. Lives until gRPC is done with it and nothing else holds it.
  static std::shared_ptr<Reactor> begin(grpc::CallbackServerContext& context, Setup setup);
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;
  ~Reactor() override;

  // The call's share of its tenant's bounds.
  struct Shares {
    http::Shares::Share call;   // one of its calls
    http::Shares::Share bytes;  // messages that were received and not read yet
  };
  // Called once, when the caller is known.
  void start_reading(service::Caller caller, http::Admission admission, Shares shares);
  [[nodiscard]] const service::Caller& caller() const { return caller_; }
  [[nodiscard]] http::Admission admission() const {
    const std::lock_guard lock(mutex_);
    return admission_;
  }

  Result<Next> read(google::protobuf::Message& into, const Deadline& deadline) override;
  int input_descriptor() override;
  Result<> write(const google::protobuf::Message& message) override;
  [[nodiscard]] bool is_gone() const override;
  int gone_descriptor() override;
  [[nodiscard]] const std::string* metadata(std::string_view name) const override;

  // Called exactly once. `reply` is nullptr for a method that has written its own messages.
  void finish(const google::protobuf::Message* reply);
  void finish(grpc::StatusCode status, const Error& error);
  void cancel();  // from any thread, at any time

  [[nodiscard]] const Method& method() const { return *setup_.method; }
  [[nodiscard]] const http::Remote& remote() const { return remote_; }
  // When the wait for the first message began; nullopt once it is here.
  [[nodiscard]] std::optional<Clock::time_point> waits_since() const;

  // Called by gRPC.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  Reactor(grpc::CallbackServerContext& context, Setup setup);
  void take_facts();
  void signal(const UniqueFd& event);
  [[nodiscard]] std::size_t held_bytes() const;

  grpc::CallbackServerContext& context_;  // valid until OnDone
  grpc_call* const call_;                 // a reference of our own: outlives the context
  const Setup setup_;
  http::Remote remote_;
  std::map<std::string, std::string, std::less<>> metadata_;
  service::Caller caller_;
  http::Admission admission_{http::CallerKind::Stranger};  // until it is admitted
  std::shared_ptr<Reactor> self_;                          // gRPC's share

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Shares shares_;
  std::deque<grpc::ByteBuffer> input_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  UniqueFd has_input_;
  UniqueFd has_gone_;
  const Clock::time_point begun_ = Clock::now();
  bool has_begun_ = false;
  bool has_too_much_ = false;  // more messages wait than the tenant may have
  bool was_first_read_ = false;
  bool has_ended_ = false;  // no more input
  bool is_gone_ = false;
  bool is_reading_ = true;
  bool is_writing_ = false;
  bool was_written_ = false;
};

}  // namespace nutshell::server
