#include "base/apparmor.h"

#include <fmt/format.h>

#include "base/file.h"

namespace nutshell {
namespace {

constexpr const char* kProfile =
    R"(# Lets Nutshell make user namespaces, which its sandboxes need. Install it as /etc/apparmor.d/nutshell and
# load it with 'apparmor_parser --replace /etc/apparmor.d/nutshell'.
abi <abi/4.0>,
include <tunables/global>

profile nutshell "{}/nutshell{{,-launcher,-unpack,d}}" flags=(unconfined) {{
  userns,

  include if exists <local/nutshell>
}}
)";

// AppArmor takes these for patterns, or for the end of a quoted path.
std::string quoted(const std::string& path) {
  std::string text;
  for (const char letter : path) {
    if (std::string_view("*?[]{}^\\\"@").find(letter) != std::string_view::npos) text += '\\';
    text += letter;
  }
  return text;
}

}  // namespace

bool needs_apparmor_profile(const std::filesystem::path& file) {
  const auto text = read_file(file, 16);
  return text && text->starts_with('1');
}

std::string apparmor_profile(const std::filesystem::path& programs) {
  return fmt::format(kProfile, quoted(programs.native()));
}

}  // namespace nutshell
