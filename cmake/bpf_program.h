// Assembles a classic BPF program for seccomp.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace nutshell {

// A BPF program, written from its end: BPF jumps only forward, so the target of a jump is written
// before the jump.
class BpfProgram {
 public:
  using Position = std::size_t;  // counted from the end

  Position finish_with(std::uint32_t action) {
    const auto known = endings_.find(action);
    if (known != endings_.end() && is_near(known->second)) return known->second;
    return endings_[action] = push(BPF_RET | BPF_K, action);
  }
  Position branch(std::uint16_t comparison, std::uint32_t value, Position yes, Position no) {
    yes = bring_near(yes);
    no = bring_near(no);
    const auto if_true = static_cast<std::uint8_t>(distance(yes));
    const auto if_false = static_cast<std::uint8_t>(distance(no));
    return push(static_cast<std::uint16_t>(BPF_JMP | BPF_K | comparison), value, if_true, if_false);
  }
  Position mask(std::uint32_t bits, Position next) {
    lead_to(next);
    return push(BPF_ALU | BPF_AND | BPF_K, bits);
  }
  Position load(std::size_t offset, Position next) {
    lead_to(next);
    return push(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  [[nodiscard]] std::vector<sock_filter> instructions() const {
    return {reversed_.rbegin(), reversed_.rend()};
  }

 private:
  // A branch reaches at most 255 instructions; its two trampolines may lie between.
  [[nodiscard]] bool is_near(Position target) const { return distance(target) < 250; }
  [[nodiscard]] std::size_t distance(Position target) const {
    return reversed_.size() - target - 1;
  }
  Position push(int code, std::uint32_t operand, std::uint8_t if_true = 0,
                std::uint8_t if_false = 0) {
    reversed_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, operand});
    return reversed_.size() - 1;
  }
  Position jump(Position target) {
    return push(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(distance(target)));
  }
  Position bring_near(Position target) {
    if (is_near(target)) return target;
    const sock_filter& instruction = reversed_[target];
    return instruction.code == (BPF_RET | BPF_K) ? finish_with(instruction.k) : jump(target);
  }
  void lead_to(Position next) {
    if (distance(next) != 0) jump(next);
  }

  std::vector<sock_filter> reversed_;
  std::map<std::uint32_t, Position> endings_;  // the nearest return of each action
};

}  // namespace nutshell
