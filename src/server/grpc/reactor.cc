#include "server/grpc/reactor.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpc/grpc.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <sys/eventfd.h>

#include <cstdlib>
#include <utility>

#include "http/tls/tls.h"

namespace nutshell::server {
namespace {

namespace pb = google::protobuf;

// The most bytes that are buffered for a handler that reads slowly.
constexpr std::size_t kMostHeldBytes = 1U << 20U;

// An error message is sent as metadata, with three letters for some bytes, and clients accept 16
// KiB of metadata.
constexpr std::size_t kMostTextBytes = 4096;

grpc::ByteBuffer bytes_of(const google::protobuf::Message& message) {
  const std::string text = message.SerializeAsString();
  const grpc::Slice slice(text);
  return {&slice, 1};
}

// A field of two bytes can need a hundred in memory.
constexpr std::size_t kMostFields = 200'000;
constexpr int kMostDepth = 64;

// Counts the fields of a message and its submessages down from `left`; false if there are more. The
// parser refuses malformed input.
bool has_few_fields(pb::io::CodedInputStream& input, const pb::Descriptor& type, std::size_t& left,
                    int depth) {
  while (const std::uint32_t tag = input.ReadTag()) {
    if (left-- == 0) return false;
    const auto kind = pb::internal::WireFormatLite::GetTagWireType(tag);
    const bool has_length = kind == pb::internal::WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const auto* field =
        type.FindFieldByNumber(pb::internal::WireFormatLite::GetTagFieldNumber(tag));
    const bool is_message = field != nullptr && field->message_type() != nullptr;
    if (!has_length || field == nullptr || (!is_message && !field->is_packable())) {
      if (!pb::internal::WireFormatLite::SkipField(&input, tag)) return true;
      continue;
    }
    std::uint32_t length = 0;
    if (!input.ReadVarint32(&length)) return true;
    if (!is_message) {
      if (length > left) return false;
      left -= length;  // numbers of at least a byte each
      if (!input.Skip(static_cast<int>(length))) return true;
      continue;
    }
    if (depth == kMostDepth) return false;
    const auto outer = input.PushLimit(static_cast<int>(length));
    if (!has_few_fields(input, *field->message_type(), left, depth + 1)) return false;
    if (input.BytesUntilLimit() != 0) return true;
    input.PopLimit(outer);
  }
  return true;
}

bool parse(grpc::ByteBuffer& bytes, pb::Message& into) {
  {
    grpc::ProtoBufferReader reader(&bytes);
    pb::io::CodedInputStream input(&reader);
    std::size_t left = kMostFields;
    if (!reader.status().ok() || !has_few_fields(input, *into.GetDescriptor(), left, 0)) {
      return false;
    }
  }
  grpc::ProtoBufferReader reader(&bytes);
  return reader.status().ok() && into.ParseFromZeroCopyStream(&reader);
}

// Turns "ipv6:%5B::1%5D:4711" into "[::1]:4711".
std::string address_in(std::string_view peer) {
  peer.remove_prefix(std::min(peer.find(':') + 1, peer.size()));
  std::string address;
  for (std::size_t i = 0; i < peer.size(); ++i) {
    const std::string_view escape = peer.substr(i, 3);
    if (escape == "%5B" || escape == "%5D") {
      address += escape == "%5B" ? '[' : ']';
      i += 2;
    } else {
      address += peer[i];
    }
  }
  return address;
}

}  // namespace

std::shared_ptr<Reactor> Reactor::begin(grpc::CallbackServerContext& context, Setup setup) {
  std::shared_ptr<Reactor> reactor(new Reactor(context, std::move(setup)));
  reactor->self_ = reactor;
  return reactor;
}

void Reactor::start_reading(service::Caller caller, http::Admission admission, Shares shares) {
  caller_ = std::move(caller);
  {
    const std::lock_guard lock(mutex_);
    admission_ = std::move(admission);
    shares_ = std::move(shares);
  }
  StartRead(&incoming_);
}

Reactor::Reactor(grpc::CallbackServerContext& context, Setup setup)
    : context_(context), call_(context.c_call()), setup_(std::move(setup)) {
  grpc_call_ref(call_);
  take_facts();
}

Reactor::~Reactor() {
  grpc_call_unref(call_);
}

void Reactor::take_facts() {
  for (const auto& [name, value] : context_.client_metadata())
    metadata_.emplace(std::string(name.data(), name.size()),
                      std::string(value.data(), value.size()));
  const std::string peer = context_.peer();
  if (peer.starts_with("fd:")) {
    remote_.process = setup_.local_peer(std::atoi(peer.c_str() + 3));
  } else {
    remote_.address = address_in(peer);
  }
  const auto proven = context_.auth_context();
  if (!proven->IsPeerAuthenticated()) return;
  const auto certificates = proven->FindPropertyValues("x509_pem_cert");
  if (!certificates.empty()) {
    remote_.certificate_end =
        http::certificate_end_of({certificates[0].data(), certificates[0].size()});
  }
  const auto names = proven->FindPropertyValues("x509_common_name");
  if (!names.empty()) remote_.certificate_name = std::string(names[0].data(), names[0].size());
}

const std::string* Reactor::metadata(std::string_view name) const {
  const auto found = metadata_.find(name);
  return found == metadata_.end() ? nullptr : &found->second;
}

void Reactor::signal(const UniqueFd& event) {
  if (event) ::eventfd_write(event.get(), 1);
  changed_.notify_all();
}

std::size_t Reactor::held_bytes() const {
  std::size_t bytes = 0;
  for (const grpc::ByteBuffer& one : input_)
    bytes += one.Length();
  return bytes;
}

void Reactor::OnReadDone(bool ok) {
  bool is_first = false;
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = !has_begun_;
    has_begun_ = true;
    if (ok && !shares_.bytes.take(incoming_.Length())) {
      incoming_.Clear();
      has_too_much_ = has_ended_ = true;
    } else if (ok) {
      input_.push_back(std::move(incoming_));
      incoming_.Clear();
      goes_on = held_bytes() < kMostHeldBytes;
    } else {
      has_ended_ = true;
      is_gone_ = is_gone_ || context_.IsCancelled();
    }
    is_reading_ = goes_on;
    signal(has_input_);
  }
  if (goes_on) StartRead(&incoming_);
  // `self_` keeps the object alive until finish() was called and gRPC is done.
  if (is_first) setup_.on_first(self_);
}

Result<Rpc::Next> Reactor::read(google::protobuf::Message& into, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [this] { return !input_.empty() || has_ended_ || is_gone_; };
  if (deadline.is_never()) {
    changed_.wait(lock, is_ready);
  } else if (!changed_.wait_for(lock, std::chrono::milliseconds(deadline.poll_timeout()),
                                is_ready)) {
    return Next::Nothing;
  }
  if (is_gone_) return failure(ErrorCode::Cancelled, "the client is gone");
  if (input_.empty() && has_too_much_) {
    return failure(ErrorCode::ResourceExhausted,
                   "the messages of other calls take all the memory there is for them; try again");
  }
  if (input_.empty()) return Next::Ended;
  grpc::ByteBuffer bytes;
  bytes.Swap(&input_.front());
  input_.pop_front();
  // The first message is there for as long as the call.
  if (std::exchange(was_first_read_, true)) shares_.bytes.give_back(bytes.Length());
  const bool goes_on = !is_reading_ && !has_ended_ && held_bytes() < kMostHeldBytes;
  is_reading_ = is_reading_ || goes_on;
  eventfd_t ignored = 0;
  if (has_input_ && input_.empty() && !has_ended_) ::eventfd_read(has_input_.get(), &ignored);
  lock.unlock();
  if (goes_on) StartRead(&incoming_);
  if (!parse(bytes, into)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("this is no {}, or has more than {} fields",
                               into.GetDescriptor()->name(), kMostFields));
  }
  return Next::Message;
}

int Reactor::input_descriptor() {
  const std::lock_guard lock(mutex_);
  if (!has_input_) {
    const bool is_ready = !input_.empty() || has_ended_ || is_gone_;
    has_input_ = UniqueFd(::eventfd(is_ready ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
  }
  return has_input_.get();
}

Result<> Reactor::write(const google::protobuf::Message& message) {
  std::unique_lock lock(mutex_);
  if (is_gone_) return failure(ErrorCode::Unavailable, "the client is gone");
  outgoing_ = bytes_of(message);
  is_writing_ = true;
  lock.unlock();
  StartWrite(&outgoing_);
  lock.lock();
  const auto is_over = [this] { return !is_writing_; };
  if (!changed_.wait_for(lock, setup_.stall_time, is_over)) {
    lock.unlock();
    cancel();  // which ends the write too
    lock.lock();
    changed_.wait(lock, is_over);
    was_written_ = false;
  }
  if (was_written_) return {};
  return failure(ErrorCode::Unavailable, "the client read nothing for too long");
}

void Reactor::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  is_writing_ = false;
  was_written_ = ok;
  changed_.notify_all();
}

bool Reactor::is_gone() const {
  const std::lock_guard lock(mutex_);
  return is_gone_;
}

int Reactor::gone_descriptor() {
  const std::lock_guard lock(mutex_);
  if (!has_gone_) {
    has_gone_ = UniqueFd(::eventfd(is_gone_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
  }
  return has_gone_.get();
}

void Reactor::OnCancel() {
  const std::lock_guard lock(mutex_);
  is_gone_ = true;
  signal(has_input_);
  signal(has_gone_);
}

void Reactor::cancel() {
  grpc_call_cancel(call_, nullptr);
}

std::optional<Clock::time_point> Reactor::waits_since() const {
  const std::lock_guard lock(mutex_);
  if (has_begun_) return std::nullopt;
  return begun_;
}

void Reactor::finish(const google::protobuf::Message* reply) {
  if (reply == nullptr) return Finish(grpc::Status::OK);
  outgoing_ = bytes_of(*reply);
  StartWriteAndFinish(&outgoing_, grpc::WriteOptions(), grpc::Status::OK);
}

void Reactor::finish(grpc::StatusCode status, const Error& error) {
  context_.AddTrailingMetadata("nutshell-code", std::string(to_string(error.code)));
  Finish(grpc::Status(status, error.message.substr(0, kMostTextBytes)));
}

void Reactor::OnDone() {
  const std::shared_ptr<Reactor> last = std::move(self_);
  setup_.on_done(this);
}

}  // namespace nutshell::server
