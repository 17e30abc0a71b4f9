#include "egress/name_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/safe_text.h"
#include "egress/host_name.h"

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kLongestKept = 5min;
constexpr std::chrono::seconds kFailureKept = 2s;
constexpr std::size_t kMostOfOne = 64;  // that wait for the same answer

}  // namespace

Addresses NameService::refuse(const std::string& name, std::string reason) {
  NetworkEvent event;
  event.kind = NetworkEventKind::Refused;
  event.host = name;
  event.reason = reason;
  event.rule = name;
  events_.add(std::move(event));
  return {.resolution = wire::Resolution::NotAllowed, .addresses = {}, .reason = std::move(reason)};
}

void NameService::look_up(const std::string& text, wire::RecordType type, Take take) {
  const auto name = canonical_name(text);
  if (!name) {
    const std::string shown = terminal_line(text.substr(0, 100));
    return take(refuse(shown, fmt::format("'{}' is not the name of a host", shown)));
  }
  if (const auto refusal = judge_.with([&](const Judge& judge) {
        return judge.may_look_up(*name) ? std::string() : judge.why_no_look_up(*name);
      });
      !refusal.empty()) {
    return take(refuse(*name, refusal));
  }
  const Question question{*name, type};
  const auto kept = kept_.find(question);
  if (kept != kept_.end() && kept->second.until > Clock::now())
    return take(allowed_part(*name, kept->second.answer));
  const auto same = open_.find(question);
  const bool is_full =
      same == open_.end() ? open_.size() >= kMostOpen : same->second.size() >= kMostOfOne;
  if (is_full) {
    return take({.resolution = wire::Resolution::Failed,
                 .addresses = {},
                 .reason = "too many names are being looked up at once"});
  }
  if (same != open_.end()) {
    same->second.push_back(std::move(take));
    return;
  }
  open_[question].push_back(std::move(take));
  outside_.resolve(*name, type,
                   [this, question](const Addresses& answer) { take_answer(question, answer); });
}

void NameService::look_up_for_sandbox(const std::string& text, wire::RecordType type, Take take) {
  look_up(text, type, [this, text, type, take = std::move(take)](const Addresses& answer) {
    const auto name = canonical_name(text);
    const bool is_kept =
        answer.resolution == wire::Resolution::Failed && name &&
        judge_.with([&](const Judge& judge) { return judge.keeps_downloads_of(*name); });
    if (!is_kept) return take(answer);
    Addresses stand_in{.resolution = wire::Resolution::Found, .addresses = {}, .reason = {}};
    stand_in.time_to_live = kFailureKept;
    if (type == wire::RecordType::Address4) {
      stand_in.addresses.push_back(stand_in_address());
      pins_.pin(stand_in_address(), *name, kFailureKept, Clock::now());
    }
    take(stand_in);
  });
}

void NameService::take_answer(const Question& question, const Addresses& answer) {
  if (kept_.size() >= kMostKept) kept_.clear();
  const bool is_known = answer.resolution != wire::Resolution::Failed;
  const std::chrono::seconds lives =
      is_known ? std::clamp<std::chrono::seconds>(answer.time_to_live, 1s, kLongestKept)
               : kFailureKept;
  kept_[question] = {answer, Clock::now() + lives};
  auto waiting = open_.extract(question);
  if (waiting.empty()) return;
  const Addresses allowed = allowed_part(question.first, answer);
  for (const Take& take : waiting.mapped())
    take(allowed);
}

Addresses NameService::allowed_part(const std::string& name, const Addresses& answer) {
  if (answer.resolution == wire::Resolution::Failed) {
    NetworkEvent event;
    event.kind = NetworkEventKind::Failed;
    event.host = name;
    event.reason = answer.reason.empty() ? "the host's resolver did not answer" : answer.reason;
    events_.add(std::move(event));
  }
  Addresses allowed = answer;
  allowed.time_to_live = std::min<std::chrono::seconds>(answer.time_to_live, kLongestKept);
  std::string refusal;
  judge_.with([&](const Judge& judge) {
    std::erase_if(allowed.addresses, [&](const Address& address) {
      if (judge.may_lead_to(address)) return false;
      refusal = judge.why_not_lead_to(name, address);
      return true;
    });
  });
  if (allowed.addresses.empty() && !refusal.empty()) return refuse(name, std::move(refusal));
  for (const Address& address : allowed.addresses)
    pins_.pin(address, name, answer.time_to_live, Clock::now());
  return allowed;
}

}  // namespace nutshell::egress
