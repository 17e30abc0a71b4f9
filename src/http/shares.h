// Counts how much of a bounded resource each holder has taken. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "http/admission.h"

namespace nutshell::http {

class Shares {
 public:
  explicit Shares(const FairBounds& bounds) : bounds_(bounds) {}

  // The amount that one holder has taken; the destructor returns it. Must not outlive the Shares.
  class Share {
   public:
    Share() = default;
    Share(Shares& shares, Admission of) : shares_(&shares), of_(std::move(of)) {}
    Share(Share&& other) noexcept
        : shares_(std::exchange(other.shares_, nullptr)),
          of_(std::move(other.of_)),
          amount_(std::exchange(other.amount_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(shares_, other.shares_);
      std::swap(of_, other.of_);
      std::swap(amount_, other.amount_);
      return *this;
    }
    ~Share() {
      if (shares_ != nullptr) shares_->give_back(of_.holder, amount_);
    }

    // False if the holder, or all holders together, would exceed their bound.
    bool take(std::size_t amount) {
      if (shares_ == nullptr) return true;
      if (!shares_->take(of_, amount)) return false;
      amount_ += amount;
      return true;
    }

    // Returns a part of the amount.
    void give_back(std::size_t amount) {
      if (shares_ == nullptr) return;
      amount_ -= amount;
      shares_->give_back(of_.holder, amount);
    }

   private:
    Shares* shares_ = nullptr;
    Admission of_;
    std::size_t amount_ = 0;
  };

  [[nodiscard]] std::size_t total() const {
    return state_.with([](const State& state) { return state.total; });
  }

 private:
  struct State {
    std::map<std::string, std::size_t> own;
    std::size_t total = 0;
  };
  bool take(const Admission& of, std::size_t amount);
  void give_back(const std::string& holder, std::size_t amount);

  const FairBounds bounds_;
  Guarded<State> state_;
};

}  // namespace nutshell::http
