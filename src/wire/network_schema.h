// The messages between the host and init about connections of a sandbox. Init only carries: the
// host decides what a sandbox may reach, and believes nothing of what is claimed inside.
//
// A flow is one connection. Its number is init's choice in an Egress conversation, and 0 in a Dial
// conversation. Both sides send FlowData within the window of the other, FlowEnd when they have no
// more bytes, and FlowReset when the connection broke. A flow is over after FlowEnd in both
// directions, or after a FlowReset in one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/schema.h"

namespace nutshell::wire {

// Bytes of one flow and direction that a side may send beyond what the other has consumed.
inline constexpr std::uint32_t kFlowWindow = 1U << 20U;

// Commands that start from now on may use the network, by the sandbox's Egress conversation. Sent
// on any connection before the first command. Until that conversation is open, connections wait for
// a few seconds, and are refused then. Answered by Done.
struct UseNetwork {
  static constexpr auto kType = MessageType::UseNetwork;
  void fields(auto& visit) { visit(); }
};

// Opens the conversation in which init tells what commands want to reach. A sandbox has at most
// one: the newest takes the place of the one before, which gets Failed, and whose flows are reset.
struct Egress {
  static constexpr auto kType = MessageType::Egress;
  // Variables that every command gets that starts from now on, such as the place of a certificate
  // authority and the placeholders of secrets.
  std::vector<std::string> environment;
  // The relay reads its stream with recvmsg, and can take descriptors from it.
  std::uint8_t takes_descriptors = 0;
  void fields(auto& visit) { visit(environment, takes_descriptors); }
};

// How connections of commands come to init.
enum class NetworkWay : std::uint8_t {
  Notification = 1,  // the kernel hands connect() to init: nothing inside needs to know
  Proxy = 2,         // commands are told of a proxy on loopback, by the usual variables
};

// Init's first message of an Egress conversation. To a relay that takes descriptors one end of a
// packet socket comes with it, the door. The relay answers DoorTaken if it received that.
//
// After DoorTaken, each FlowOpened without an error has one of three answers, and until it comes
// the relay sends nothing of the flow. A packet through the door, with the flow's number (four
// bytes) and the socket whose other end the command has: from then on the relay reads and writes
// that socket, no bytes of the flow are on the wire, and the relay tells its end by FlowEnd, or by
// FlowReset with the reason. FlowJoined: init carries the flow itself. FlowReset: the command is
// gone.
struct EgressOpened {
  static constexpr auto kType = MessageType::EgressOpened;
  NetworkWay way = NetworkWay::Notification;
  std::uint8_t has_door = 0;
  void fields(auto& visit) { visit(way, has_door); }
};
struct DoorTaken {
  static constexpr auto kType = MessageType::DoorTaken;
  void fields(auto& visit) { visit(); }
};
struct FlowJoined {
  static constexpr auto kType = MessageType::FlowJoined;
  std::uint32_t flow = 0;
  void fields(auto& visit) { visit(flow); }
};

// Opens a conversation with a server inside, at this port of the sandbox's loopback interface.
// Answered by FlowOpened; then both sides send on flow 0.
struct Dial {
  static constexpr auto kType = MessageType::Dial;
  std::uint16_t port = 0;
  void fields(auto& visit) { visit(port); }
};

enum class RecordType : std::uint16_t { Address4 = 1, Address6 = 28 };

// Init asks for the addresses of a name.
struct Resolve {
  static constexpr auto kType = MessageType::Resolve;
  std::uint32_t query = 0;
  std::string name;  // as it was in the request, without the final dot
  RecordType type = RecordType::Address4;
  void fields(auto& visit) { visit(query, name, type); }
};

enum class Resolution : std::uint8_t {
  Found,  // with no address: the name has none of this type
  NoSuchName,
  NotAllowed,
  Failed,  // for now: the host's resolver did not answer
};

struct Resolved {
  static constexpr auto kType = MessageType::Resolved;
  std::uint32_t query = 0;
  Resolution resolution = Resolution::Failed;
  std::uint32_t seconds_to_live = 0;
  std::vector<std::string> addresses;  // 4 or 16 bytes each, in network order
  std::string reason;                  // for people and models, where it was not found
  void fields(auto& visit) { visit(query, resolution, seconds_to_live, addresses, reason); }
};

// Init asks for a connection.
struct OpenFlow {
  static constexpr auto kType = MessageType::OpenFlow;
  std::uint32_t flow = 0;
  std::string address;  // 4 or 16 bytes in network order; empty: `name`
  std::string name;     // given to a proxy on loopback; empty: `address`
  std::uint16_t port = 0;
  void fields(auto& visit) { visit(flow, address, name, port); }
};

struct FlowOpened {
  static constexpr auto kType = MessageType::FlowOpened;
  std::uint32_t flow = 0;
  std::uint16_t error_number = 0;  // zero: it is open; else errno for the command, and `reason`
  std::string reason;              // for people and models: what was refused, and what is allowed
  // The policy refused it, so it counts as a refused connection of the command.
  std::uint8_t is_refusal = 0;
  void fields(auto& visit) { visit(flow, error_number, reason, is_refusal); }
};

struct FlowData {
  static constexpr auto kType = MessageType::FlowData;
  std::uint32_t flow = 0;
  std::string bytes;  // at most kMostData
  void fields(auto& visit) { visit(flow, bytes); }
};

// All bytes of the flow before `offset` have been passed on; the other side may send more.
struct FlowConsumed {
  static constexpr auto kType = MessageType::FlowConsumed;
  std::uint32_t flow = 0;
  std::uint64_t offset = 0;
  void fields(auto& visit) { visit(flow, offset); }
};

struct FlowEnd {
  static constexpr auto kType = MessageType::FlowEnd;
  std::uint32_t flow = 0;
  void fields(auto& visit) { visit(flow); }
};

// The connection is broken, or cut by the policy; `reason` is for people and models.
struct FlowReset {
  static constexpr auto kType = MessageType::FlowReset;
  std::uint32_t flow = 0;
  std::string reason;
  std::uint8_t is_refusal = 0;  // as in FlowOpened
  void fields(auto& visit) { visit(flow, reason, is_refusal); }
};

}  // namespace nutshell::wire
