// The connections of one listener: how many there are, and who has them. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "http/admission.h"

namespace nutshell::http {

class ConnectionPlaces {
 public:
  // One connection's place; gives it back when it ends, and must end before the ConnectionPlaces.
  class Place {
   public:
    Place() = default;
    Place(ConnectionPlaces& places, std::string group)
        : places_(&places), group_(std::move(group)) {
      places_->add(group_);
    }
    Place(Place&& other) noexcept
        : places_(std::exchange(other.places_, nullptr)), group_(std::move(other.group_)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (places_ != nullptr) places_->remove(group_);
    }
    // Counts it for another group from now on.
    void move_to(const std::string& group) {
      if (places_ == nullptr || group == group_) return;
      places_->move(group_, group);
      group_ = group;
    }
    [[nodiscard]] const std::string& group() const { return group_; }

   private:
    ConnectionPlaces* places_ = nullptr;
    std::string group_;
  };

  [[nodiscard]] std::size_t total() const;
  [[nodiscard]] std::size_t of(const std::string& group) const;
  // The group that starts with `prefix` and has the most connections; empty: there is none.
  [[nodiscard]] std::string largest(const std::string& prefix) const;

 private:
  struct State {
    std::map<std::string, std::size_t> groups;
    std::size_t total = 0;
  };
  void add(const std::string& group);
  void remove(const std::string& group);
  void move(const std::string& from, const std::string& to);

  Guarded<State> state_;
};

// Whom a connection is counted for: its source until a request on it has proved more.
inline constexpr const char* kStrangerGroup = "stranger ";
inline constexpr const char* kTenantGroup = "tenant ";
std::string group_of(const Admission& admission, const Remote& remote);

}  // namespace nutshell::http
