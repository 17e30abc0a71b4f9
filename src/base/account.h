// Counts how much of one resource a holder has, bounds it, and takes it back. Accounts nest: what
// is charged to an exec is charged to its tenant and to the machine as well, and is refused where
// any of them has no room. Thread-safe. An account outlives its charges.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace nutshell {

class Charge;

class Account {
 public:
  static constexpr std::uint64_t kUnbounded = ~0ULL;

  explicit Account(std::uint64_t most, Account* whole = nullptr) : most_(most), whole_(whole) {}
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // Returns nullopt, and charges nothing, if this account or one above it has no room.
  std::optional<Charge> take(std::uint64_t amount);
  // Charges for things that exist already, such as an adopted sandbox, even beyond the bound.
  Charge take_anyway(std::uint64_t amount);

  [[nodiscard]] std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t most() const { return most_.load(std::memory_order_relaxed); }
  // A holder of more than the new bound keeps what it has, and gets no more.
  void set_most(std::uint64_t most) { most_.store(most, std::memory_order_relaxed); }
  // The amount that can still be taken, from this account and all above it.
  [[nodiscard]] std::uint64_t left() const;

 private:
  friend class Charge;
  bool add(std::uint64_t amount);
  void add_anyway(std::uint64_t amount);
  void subtract(std::uint64_t amount);

  std::atomic<std::uint64_t> used_ = 0;
  std::atomic<std::uint64_t> most_;
  Account* whole_;
};

// A part of an account, given back at the end of this object. Used by one thread at a time.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept
      : account_(std::exchange(other.account_, nullptr)),
        amount_(std::exchange(other.amount_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    if (this == &other) return *this;
    reset();
    account_ = std::exchange(other.account_, nullptr);
    amount_ = std::exchange(other.amount_, 0);
    return *this;
  }
  ~Charge() { reset(); }

  // Returns false, and changes nothing, if there is no room or the charge has no account.
  [[nodiscard]] bool grow(std::uint64_t amount);
  void shrink(std::uint64_t amount);  // by all that it has at most
  void reset();
  [[nodiscard]] std::uint64_t amount() const { return amount_; }

 private:
  friend class Account;
  Charge(Account* account, std::uint64_t amount) : account_(account), amount_(amount) {}

  Account* account_ = nullptr;
  std::uint64_t amount_ = 0;
};

}  // namespace nutshell
