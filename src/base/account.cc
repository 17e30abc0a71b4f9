#include "base/account.h"

#include <algorithm>

namespace nutshell {

bool Account::add(std::uint64_t amount) {
  std::uint64_t used = used_.load();
  do {
    const std::uint64_t bound = most();
    if (used > bound || amount > bound - used) return false;
  } while (!used_.compare_exchange_weak(used, used + amount));
  if (whole_ == nullptr || whole_->add(amount)) return true;
  used_.fetch_sub(amount);
  return false;
}

void Account::add_anyway(std::uint64_t amount) {
  for (Account* account = this; account != nullptr; account = account->whole_)
    account->used_.fetch_add(amount);
}

void Account::subtract(std::uint64_t amount) {
  for (Account* account = this; account != nullptr; account = account->whole_)
    account->used_.fetch_sub(amount);
}

std::optional<Charge> Account::take(std::uint64_t amount) {
  if (!add(amount)) return std::nullopt;
  return Charge(this, amount);
}

Charge Account::take_anyway(std::uint64_t amount) {
  add_anyway(amount);
  return {this, amount};
}

std::uint64_t Account::left() const {
  std::uint64_t least = kUnbounded;
  for (const Account* account = this; account != nullptr; account = account->whole_)
    least = std::min(least, account->most() - std::min(account->most(), account->used()));
  return least;
}

bool Charge::grow(std::uint64_t amount) {
  if (amount == 0) return true;
  if (account_ == nullptr || !account_->add(amount)) return false;
  amount_ += amount;
  return true;
}

void Charge::shrink(std::uint64_t amount) {
  if (account_ == nullptr) return;
  const std::uint64_t back = std::min(amount, amount_);
  account_->subtract(back);
  amount_ -= back;
}

void Charge::reset() {
  if (account_ != nullptr) account_->subtract(amount_);
  account_ = nullptr;
  amount_ = 0;
}

}  // namespace nutshell
