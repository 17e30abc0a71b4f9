#include <cerrno>
#include <utility>

#include "base/socket.h"
#include "init/network/network.h"
#include "init/network/network_tags.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostRefusedNames = 64;
constexpr auto kSameLookUp = 10s;  // a client asks for a name several times

int error_for_command(std::uint16_t number) {
  constexpr std::uint16_t kMostErrno = 4095;
  return number == 0 || number > kMostErrno ? ECONNREFUSED : number;
}

}  // namespace

std::unique_ptr<Conversation> Network::open(std::uint32_t conversation,
                                            const wire::Egress& egress) {
  if (host_ != nullptr) {
    std::exchange(host_, nullptr)->detach();
    lose_host();
  }
  auto opened = std::make_unique<EgressConversation>(conversation, *this);
  host_ = opened.get();
  wire::EgressOpened answer;
  answer.way = way_;
  if (egress.takes_descriptors != 0) {
    if (auto pair = make_socket_pair(SocketKind::Packets)) {
      door_ = std::move(pair->first);
      answer.has_door = 1;
      opened->send_descriptor(std::move(pair->second));
    }
  }
  opened->send(answer);
  for (auto& [number, flow] : flows_) {
    if (flow.state == Flow::State::Asked) tell(question_of(number, flow));
  }
  if (names_) names_->ask_again();
  return opened;
}

// Attempts that wait for a decision go on waiting: a new relay may come.
void Network::lose_host() {
  host_ = nullptr;
  door_.reset();
  has_door_ = false;
  host_grace_ = Deadline::in(kHostTime);
  for (auto flow = flows_.begin(); flow != flows_.end();) {
    const auto next = std::next(flow);
    const Flow::State state = flow->second.state;
    if (state == Flow::State::Joining || state == Flow::State::Joined ||
        state == Flow::State::Carried || state == Flow::State::HandedOver) {
      drop(flow->first, {});
    }
    flow = next;
  }
}

Result<> Network::take(const wire::Frame& frame) {
  using enum wire::MessageType;
  switch (frame.type) {
    case Resolved:
      return take_resolved(frame);
    case FlowOpened:
      return take_opened(frame);
    case FlowData:
    case FlowConsumed:
      return take_bytes(frame);
    case FlowEnd:
      return take_end(frame);
    case FlowReset:
      return take_reset(frame);
    case DoorTaken:
      has_door_ = door_.is_open();
      return {};
    default:
      return failure(ErrorCode::Corrupt,
                     "the host sent a message that does not belong to a network");
  }
}

Result<> Network::take_resolved(const wire::Frame& frame) {
  const auto resolved = TRY(wire::decode<wire::Resolved>(frame.payload));
  const std::string name = names_ ? names_->answer(resolved) : std::string();
  if (name.empty() || resolved.resolution != wire::Resolution::NotAllowed) return {};
  std::erase_if(refused_names_, [](const auto& item) { return item.second.has_passed(); });
  const bool is_new = refused_names_.size() >= kMostRefusedNames ||
                      refused_names_.emplace(name, Deadline::in(kSameLookUp)).second;
  // Which process asked is not known.
  if (is_new) note_refusal_(ProcessMarks::kAnyMark, resolved.reason);
  return {};
}

Result<> Network::take_opened(const wire::Frame& frame) {
  const auto opened = TRY(wire::decode<wire::FlowOpened>(frame.payload));
  const auto found = flows_.find(opened.flow);
  if (found == flows_.end()) return {};  // dropped meanwhile, which the host was told
  Flow& flow = found->second;
  const bool is_asked = flow.attempt ? !flow.is_opened : flow.state == Flow::State::Asked;
  if (!is_asked) return failure(ErrorCode::Corrupt, "the host opened a flow twice");
  if (flow.client) {
    open_client(opened.flow, opened);
    return {};
  }
  if (opened.error_number != 0) {
    const bool is_refusal = opened.is_refusal != 0;
    refuse(*flow.attempt, error_for_command(opened.error_number),
           is_refusal ? opened.reason : std::string());
    if (flow.joined) Carrier(std::move(flow.joined)).reset();
    erase(found);
    return {};
  }
  flow.is_opened = true;
  if (flow.state == Flow::State::Asked) {
    join(opened.flow, flow);
  } else if (flow.state == Flow::State::Joined) {
    start_carrying(opened.flow, flow);
  }
  return {};
}

Result<> Network::take_bytes(const wire::Frame& frame) {
  const bool is_data = frame.type == wire::MessageType::FlowData;
  wire::FlowData data;
  wire::FlowConsumed consumed;
  if (is_data) {
    data = TRY(wire::decode<wire::FlowData>(frame.payload));
  } else {
    consumed = TRY(wire::decode<wire::FlowConsumed>(frame.payload));
  }
  const auto found = flows_.find(is_data ? data.flow : consumed.flow);
  if (found == flows_.end() || !found->second.carrier) return {};
  Carrier& carrier = *found->second.carrier;
  if (is_data) {
    TRY(carrier.pass_on(data.bytes));
    if (const auto offset = carrier.due_consumption()) {
      tell(wire::FlowConsumed{data.flow, *offset});
    }
  } else {
    TRY(carrier.consumed(consumed.offset));
  }
  queue(found->first, carrier);
  return {};
}

Result<> Network::take_end(const wire::Frame& frame) {
  const auto message = TRY(wire::decode<wire::FlowEnd>(frame.payload));
  const auto found = flows_.find(message.flow);
  if (found == flows_.end()) return {};
  if (!found->second.carrier) {
    if (found->second.state == Flow::State::HandedOver) erase(found);
    return {};
  }
  Carrier& carrier = *found->second.carrier;
  carrier.end();
  if (carrier.is_over() && !carrier.is_broken()) {
    erase(found);
  } else {
    queue(found->first, carrier);
  }
  return {};
}

Result<> Network::take_reset(const wire::Frame& frame) {
  const auto message = TRY(wire::decode<wire::FlowReset>(frame.payload));
  const auto found = flows_.find(message.flow);
  // A connection that the policy cuts is counted even if it is over inside.
  if (message.is_refusal != 0) {
    const bool is_known = found != flows_.end() && found->second.attempt;
    note_refusal_(is_known ? found->second.attempt->mark : ProcessMarks::kAnyMark, message.reason);
  }
  if (found == flows_.end()) return {};
  Flow& flow = found->second;
  if (flow.attempt) answer(*flow.attempt, ECONNRESET);
  if (flow.client) refuse_client(flow, ECONNRESET, false, message.reason);
  if (flow.joined) Carrier(std::move(flow.joined)).reset();
  if (flow.carrier) flow.carrier->reset();
  erase(found);
  return {};
}

}  // namespace nutshell::init
