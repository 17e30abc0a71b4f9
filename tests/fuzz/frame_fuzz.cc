#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "entry_points.h"
#include "wire/every_message_fixture.h"
#include "wire/frame.h"

namespace nutshell::fuzz {
namespace {

// A payload that can be decoded gives the same bytes when it is encoded again.
void check_round_trip(const wire::Frame& frame) {
  wire::for_every_message([&]<typename Message>(Message) {
    if (frame.type != Message::kType) return;
    const auto message = wire::decode<Message>(frame.payload);
    if (message && wire::encode(*message) != frame.payload) std::abort();
  });
}

// Returns false once the reader has failed.
bool take_frames(wire::FrameReader& reader) {
  for (;;) {
    const auto frame = reader.next();
    if (!frame) return false;
    if (!*frame) return true;
    check_round_trip(**frame);
  }
}

}  // namespace

// The first byte is the number of bytes that arrive at a time.
void fuzz_frame(std::string_view input) {
  if (input.empty()) return;
  const std::size_t step = 1U + static_cast<unsigned char>(input[0]);
  input.remove_prefix(1);
  wire::FrameReader reader(wire::kMostReplyPayload);
  while (!input.empty()) {
    const auto [space, size] = reader.space();
    const std::size_t count = std::min({step, size, input.size()});
    if (count == 0) std::abort();
    std::memcpy(space, input.data(), count);
    reader.filled(count);
    input.remove_prefix(count);
    if (!take_frames(reader)) return;
  }
}

}  // namespace nutshell::fuzz
