#include "egress/inspect/secret_forms.h"

#include <gmock/gmock.h>

#include "base/base64.h"

namespace nutshell::egress {
namespace {

using testing::AllOf;
using testing::Contains;

TEST(SecretForms, EscapesForUrlsJsonAndHtml) {
  const auto forms = forms_of("a/b+c\"<d>&'");
  EXPECT_EQ(forms.front(), "a/b+c\"<d>&'");
  EXPECT_THAT(
      forms, AllOf(Contains("a%2Fb%2Bc%22%3Cd%3E%26%27"), Contains("a/b%2Bc%22%3Cd%3E%26%27"),
                   Contains(R"(a/b+c\"<d>&')"), Contains(R"(a\/b+c\"<d>&')"),
                   Contains(R"(a\/b+c\"\u003cd\u003e\u0026')"),
                   Contains("a/b+c&quot;&lt;d&gt;&amp;&#39;"), Contains("612f622b63223c643e2627")));
  EXPECT_EQ(forms_of("plain-letters").size(), 1U + 3U + 1U);  // itself, base64, hexadecimal
}

TEST(SecretForms, FindsTheValueAtAnyPlaceInBase64) {
  const std::string value = "???swordfish-0123456789>>>";
  const auto forms = forms_of(value);
  for (const std::string before : {"", "a", "ab", "abc", "user:", "me@x.y:"}) {
    for (const std::string behind : {"", "a", "ab", ":x"}) {
      const std::string text = to_base64(before + value + behind);
      EXPECT_TRUE(std::any_of(
          forms.begin(), forms.end(),
          [&](const std::string& form) { return text.find(form) != std::string::npos; }))
          << before << "…" << behind;
    }
  }
}

}  // namespace
}  // namespace nutshell::egress
