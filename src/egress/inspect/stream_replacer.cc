#include "egress/inspect/stream_replacer.h"

#include <algorithm>

namespace nutshell::egress {
namespace {

std::size_t index_of(char letter) {
  return static_cast<unsigned char>(letter);
}

std::string in_small_letters(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

}  // namespace

StreamReplacer::StreamReplacer(std::vector<Replacement> replacements, Case letter_case)
    : replacements_(std::move(replacements)), case_(letter_case) {
  if (case_ == Case::Any) {
    for (Replacement& one : replacements_)
      one.first = in_small_letters(std::move(one.first));
  }
  // The longest first: a text may begin with another one.
  std::sort(replacements_.begin(), replacements_.end(),
            [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  for (const auto& [text, made] : replacements_)
    is_first_[index_of(text.front())] = true;
}

std::string StreamReplacer::scan(std::string_view bytes, Part part) {
  const std::string all = held_ + std::string(bytes);
  const std::string compared = case_ == Case::Any ? in_small_letters(all) : all;
  held_.clear();
  std::string passed;
  passed.reserve(all.size());
  for (std::size_t at = 0; at < all.size();) {
    if (!is_first_[index_of(compared[at])]) {
      passed += all[at++];
      continue;
    }
    const std::string_view rest = std::string_view(compared).substr(at);
    const Replacement* found = nullptr;
    bool may_begin = false;  // a text that is longer than the one found
    for (const Replacement& one : replacements_) {
      if (found != nullptr) break;
      if (rest.substr(0, one.first.size()) == one.first) found = &one;
      may_begin = may_begin || (part == Part::WithMoreToCome && rest.size() < one.first.size() &&
                                one.first.compare(0, rest.size(), rest) == 0);
    }
    if (may_begin) {
      held_ = all.substr(at);
      break;
    }
    if (found != nullptr) {
      passed += found->second;
      at += found->first.size();
      has_replaced_ = true;
    } else {
      passed += all[at++];
    }
  }
  return passed;
}

std::string replaced(std::string_view text, const std::vector<Replacement>& replacements,
                     StreamReplacer::Case letter_case) {
  StreamReplacer replacer(replacements, letter_case);
  std::string made = replacer.take(text);
  return made + replacer.end();
}

}  // namespace nutshell::egress
