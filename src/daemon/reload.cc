#include "daemon/reload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "service/sandboxes/spec_text.h"

namespace nutshell::daemon {
namespace {

bool is_reloaded(std::string_view key) {
  constexpr std::array<std::string_view, 3> kSections = {"quota.", "machine.", "allow."};
  constexpr std::array<std::string_view, 6> kSettings = {
      "tcp.hosts",          "tcp.origins",        "drain_seconds", "limits.collected_output_bytes",
      "limits.spool_bytes", "limits.recall_bytes"};
  const auto is_of = [key](std::string_view section) { return key.starts_with(section); };
  return std::any_of(kSections.begin(), kSections.end(), is_of) ||
         std::find(kSettings.begin(), kSettings.end(), key) != kSettings.end();
}

std::string in_a_line(std::string value) {
  std::replace(value.begin(), value.end(), '\n', ',');
  return value.empty() ? "(empty)" : value;
}

std::string words_of(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& word : list)
    text += fmt::format("{}:{} ", word.size(), word);
  return text;
}

// The entries of each list of tables by name, with a text that differs when an entry does.
using Entries = std::map<std::string, std::string>;

Entries entries_of(const Config& config) {
  Entries all;
  for (const server::Token& token : config.tokens)
    all["token " + token.name] = token.tenant + "\n" + token.sha256;
  for (const auto& [name, tenant] : config.certificates)
    all["certificate " + name] = tenant;
  for (const service::PoolSpec& pool : config.pools) {
    all["pool " + pool.name] = fmt::format(
        "{} {} {} {} {} {}", pool.min_idle, pool.max_idle, pool.max_total,
        pool.idle_timeout.count(), words_of(pool.tenants), service::hash_of_spec(pool.spec));
  }
  for (const auto& [tenant, quota] : config.quotas) {
    std::string& text = all["quota of " + tenant];
    for (const auto& [resource, most] : quota.most)
      text += fmt::format("{}={} ", static_cast<int>(resource), most);
    if (!quota.allowed) continue;
    for (const auto* list : {&quota.allowed->backends, &quota.allowed->runtimes,
                             &quota.allowed->images, &quota.allowed->registries})
      text += fmt::format("[{}]", words_of(*list));
  }
  return all;
}

}  // namespace

ConfigChanges compare(const Config& before, const Config& after) {
  ConfigChanges changes;
  for (const auto& [key, setting] : after.settings()) {
    const std::string& old = before.text(key);
    if (setting.value == old) continue;
    (is_reloaded(key) ? changes.taken_over : changes.need_restart)
        .push_back(fmt::format("{}: {}, was {}", key, in_a_line(setting.value), in_a_line(old)));
  }
  const Entries olds = entries_of(before);
  const Entries news = entries_of(after);
  for (const auto& [name, text] : news) {
    const auto old = olds.find(name);
    if (old == olds.end()) {
      changes.taken_over.push_back(name + ": added");
    } else if (old->second != text) {
      changes.taken_over.push_back(name + ": changed");
    }
  }
  for (const auto& [name, text] : olds) {
    if (!news.contains(name)) changes.taken_over.push_back(name + ": removed");
  }
  return changes;
}

}  // namespace nutshell::daemon
