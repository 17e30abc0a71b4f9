// Answers the look-ups of a sandbox: only names that its policy allows are asked for outside, and
// the addresses of an answer are pinned to the name. Used by the thread of the event loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "egress/event_log.h"
#include "egress/judge.h"
#include "egress/outside.h"
#include "egress/pinned_names.h"
#include "wire/network_schema.h"

namespace nutshell::egress {

class NameService {
 public:
  static constexpr std::size_t kMostOpen = 256;
  static constexpr std::size_t kMostKept = 1024;

  NameService(Outside& outside, const Guarded<Judge>& judge, EventLog& events)
      : outside_(outside), judge_(judge), events_(events) {}

  using Take = std::function<void(const Addresses&)>;
  // `name` as the sandbox wrote it. Calls `take` now or later.
  void look_up(const std::string& name, wire::RecordType type, Take take);
  // The same, but a server of kept downloads that cannot be found gets the stand-in address.
  void look_up_for_sandbox(const std::string& name, wire::RecordType type, Take take);
  // The names that led there and that were looked up in time.
  [[nodiscard]] std::vector<std::string> names_of(const Address& address) const {
    return pins_.names_of(address, Clock::now());
  }

 private:
  using Question = std::pair<std::string, wire::RecordType>;
  struct Kept {
    Addresses answer;
    Clock::time_point until;
  };
  void take_answer(const Question& question, const Addresses& answer);
  // Leaves out the addresses to which the name may not lead, and pins the others.
  [[nodiscard]] Addresses allowed_part(const std::string& name, const Addresses& answer);
  [[nodiscard]] Addresses refuse(const std::string& name, std::string reason);

  Outside& outside_;
  const Guarded<Judge>& judge_;
  EventLog& events_;
  PinnedNames pins_;
  std::map<Question, std::vector<Take>> open_;
  std::map<Question, Kept> kept_;
};

}  // namespace nutshell::egress
