// Counts the connections of one listener by the groups that have them. Thread-safe.
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
  // One connection's place, freed by the destructor; must not outlive the ConnectionPlaces.
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
    // Moves the connection to another group.
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
  // The largest group whose name begins with `prefix`; empty if there is none.
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

// The group of a connection: its source address until a request on it has shown a token.
inline constexpr const char* kStrangerGroup = "stranger ";
inline constexpr const char* kTenantGroup = "tenant ";
std::string group_of(const Admission& admission, const Remote& remote);

}  // namespace nutshell::http
