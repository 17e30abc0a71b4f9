#include "runtime/git_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace nutshell {
namespace {

using testing::HasSubstr;

std::string number(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i)
    text += static_cast<char>((value >> (8U * static_cast<unsigned>(i))) & 0xffU);
  return text;
}

struct IndexText {
  std::uint32_t version = 2;
  std::string entries = {};
  std::uint32_t count = 0;
  std::string previous = {};
  std::string extensions = {};

  IndexText& add(const std::string& name, std::uint32_t claimed_length = 0x1000) {
    std::string entry(60, '\0');
    const std::uint32_t length =
        claimed_length == 0x1000 ? static_cast<std::uint32_t>(name.size()) : claimed_length;
    entry += number(length, 2);
    if (version == 4) {
      entry += static_cast<char>(previous.size());  // drops the whole previous name
      entry += name;
      entry += '\0';
    } else {
      entry += name;
      entry.resize((entry.size() + 8) / 8 * 8);
    }
    previous = name;
    entries += entry;
    ++count;
    return *this;
  }
  IndexText& extend(const std::string& name, const std::string& body) {
    extensions += name + number(static_cast<std::uint32_t>(body.size()), 4) + body;
    return *this;
  }
  [[nodiscard]] std::string bytes() const {
    return "DIRC" + number(version, 4) + number(count, 4) + entries + extensions +
           std::string(20, 'h');
  }
};

TEST(GitIndex, TakesOrdinaryOnes) {
  for (const std::uint32_t version : {2U, 3U, 4U}) {
    IndexText index{version};
    index.add("README").add("src/a.c").add("src/deep/er/b.c").add(".gitignore");
    EXPECT_EQ(trouble_with_index(index.bytes()), "") << version;
    EXPECT_EQ(trouble_with_index(index.extend("TREE", "body").bytes()), "") << version;
  }
  EXPECT_EQ(trouble_with_index(IndexText().bytes()), "");
}

TEST(GitIndex, StaysTheSameWhenOnlyTimesAreNoted) {
  IndexText index;
  const std::string before = index.add("README").add("src/a.c").bytes();
  std::string touched = before;
  touched[12] = 'x';  // a byte of the first entry's times
  touched.back() = 'x';
  EXPECT_EQ(digest_of_staged(touched), digest_of_staged(before));
  std::string staged = before;
  staged[12 + 40] = 'x';  // a byte of its object
  EXPECT_NE(digest_of_staged(staged), digest_of_staged(before));
  EXPECT_NE(digest_of_staged(index.add("b").bytes()), digest_of_staged(before));
  EXPECT_EQ(digest_of_staged("torn"), "");
}

TEST(GitIndex, RefusesPathsThatLeaveTheWorkTree) {
  for (const char* path :
       {".git/hooks/post-checkout", "a/.git/config", ".GIT/config", "git~1/config", ".git.", "../x",
        "/etc/x", "a//b", "a/./b", "a/", ".g\u200cit/hooks/x", "a\\.git\\config", ".git"}) {
    for (const std::uint32_t version : {2U, 4U}) {
      IndexText index{version};
      index.add("README").add(path);
      EXPECT_THAT(trouble_with_index(index.bytes()), HasSubstr("outside")) << path;
    }
  }
}

TEST(GitIndex, RefusesPartsThatNameOtherPaths) {
  for (const char* name : {"link", "IEOT", "EOIE", "FSMN", "sdir", "XXXX"}) {
    IndexText index;
    index.add("README").extend(name, "body");
    EXPECT_THAT(trouble_with_index(index.bytes()), HasSubstr("checked")) << name;
  }
}

TEST(GitIndex, RefusesWhatItCannotUnderstand) {
  IndexText index;
  index.add("README").add("src/a.c");
  const std::string whole = index.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(trouble_with_index(whole.substr(0, size)), "") << size;
  EXPECT_NE(trouble_with_index(IndexText{5}.bytes()), "");
  IndexText lying;
  lying.add("README", 3);  // the flags say three letters
  EXPECT_NE(trouble_with_index(lying.bytes()), "");
}

}  // namespace
}  // namespace nutshell
