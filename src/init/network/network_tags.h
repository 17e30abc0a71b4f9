// Limits, times and tags of events that the parts of Network share.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace nutshell::init {

// Attempts beyond this number fail at once.
inline constexpr std::size_t kMostAttempts = 4096;
inline constexpr std::size_t kMostFlows = 65'536;
// A runtime that uses the network opens the conversation at once.
inline constexpr std::chrono::seconds kHostTime{4};

// Kinds of tags of events; the rest of a tag is a number.
inline constexpr std::uint64_t kKind = 7ULL << 60U;
inline constexpr std::uint64_t kWatchKind = 1ULL << 60U;
inline constexpr std::uint64_t kFlowKind = 2ULL << 60U;
inline constexpr std::uint64_t kListenerKind = 3ULL << 60U;  // the number is a descriptor
inline constexpr std::uint64_t kNameKind = 4ULL << 60U;
inline constexpr std::uint64_t kProxyKind = 5ULL << 60U;

// The events of a flow's socket, each told once.
inline constexpr std::uint32_t kChanges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

}  // namespace nutshell::init
