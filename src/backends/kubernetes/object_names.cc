#include "backends/kubernetes/object_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/base64.h"
#include "base/sha256.h"
#include "base/utf8.h"

namespace nutshell::kubernetes {
namespace {

constexpr const char* kDigestLabel = "nutshell.sandbox/id-digest";
constexpr const char* kIdAnnotation = "nutshell.sandbox/id";
constexpr const char* kRawIdAnnotation = "nutshell.sandbox/id-base64";  // an id that is not UTF-8
constexpr std::size_t kMostReadable = 20;
constexpr std::size_t kNameDigits = 32;  // 128 bits: nobody finds two ids with the same
constexpr std::size_t kLabelDigits = 40;
constexpr std::size_t kMostLabel = 63;
constexpr std::size_t kMostPrefix = 253;

bool is_letter_or_digit(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

bool is_lower_or_digit(char letter) {
  return is_letter_or_digit(letter) && std::isupper(static_cast<unsigned char>(letter)) == 0;
}

// The letters and digits of ASCII, in lower case, with one dash for everything between them.
std::string readable_part(std::string_view id) {
  std::string part;
  for (const char letter : id.substr(0, 4 * kMostReadable)) {
    if (part.size() >= kMostReadable) break;
    if (is_letter_or_digit(letter)) {
      part += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else if (!part.empty() && part.back() != '-') {
      part += '-';
    }
  }
  if (!part.empty() && part.back() == '-') part.pop_back();
  return part;
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMostLabel && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && std::all_of(text.begin(), text.end(), [](char letter) {
           return is_letter_or_digit(letter) || letter == '-' || letter == '_' || letter == '.';
         });
}

// Parts of lower-case letters, digits and dashes with dots between them.
bool is_domain(std::string_view text) {
  if (text.empty() || text.size() > kMostPrefix) return false;
  for (;;) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    const bool is_sound =
        !part.empty() && is_lower_or_digit(part.front()) && is_lower_or_digit(part.back()) &&
        std::all_of(part.begin(), part.end(),
                    [](char letter) { return is_lower_or_digit(letter) || letter == '-'; });
    if (!is_sound) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

const std::string* find(const Texts& texts, const char* name) {
  const auto found = texts.find(name);
  return found == texts.end() ? nullptr : &found->second;
}

std::string label_digest(std::string_view id) {
  return sha256_hex(id).substr(0, kLabelDigits);
}

}  // namespace

std::string object_name(std::string_view id) {
  const std::string part = readable_part(id);
  return fmt::format("nutshell-{}{}{}", part, part.empty() ? "" : "-",
                     sha256_hex(id).substr(0, kNameDigits));
}

Marks marks_of(std::string_view id) {
  Marks marks;
  marks.labels[kDigestLabel] = label_digest(id);
  if (is_utf8(id)) {
    marks.annotations[kIdAnnotation] = std::string(id);
  } else {
    marks.annotations[kRawIdAnnotation] = to_base64(id);
  }
  return marks;
}

std::string selector_of(std::string_view id) {
  return fmt::format("{}={}", kDigestLabel, label_digest(id));
}

std::optional<std::string> id_of(const Marks& marks) {
  std::optional<std::string> id;
  if (const std::string* text = find(marks.annotations, kIdAnnotation)) id = *text;
  if (const std::string* raw = find(marks.annotations, kRawIdAnnotation); raw != nullptr && !id)
    id = from_base64(*raw);
  const std::string* digest = find(marks.labels, kDigestLabel);
  if (!id || digest == nullptr || *digest != label_digest(*id)) return std::nullopt;
  return id;
}

bool is_label_value(std::string_view text) {
  return text.empty() || is_word(text);
}

bool is_label_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_word(text);
  return is_domain(text.substr(0, slash)) && is_word(text.substr(slash + 1));
}

}  // namespace nutshell::kubernetes
