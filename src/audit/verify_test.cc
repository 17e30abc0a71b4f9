#include "audit/verify.h"

#include <gmock/gmock.h>

#include "audit/record_fixture.h"
#include "base/sha256.h"

namespace nutshell::audit {
namespace {

using Finding = Verdict::Finding;
using testing::HasSubstr;

class Verify : public RecordTest {
 protected:
  // As an attacker would who knows the format: the line gets a hash that fits.
  static std::string rehash(std::string line, const std::string& from, const std::string& to) {
    line.replace(line.find(from), from.size(), to);
    const std::size_t hash = line.rfind(",\"hash\":\"");
    return line.substr(0, hash) + ",\"hash\":\"" + sha256_hex(line.substr(0, hash)) + "\"}";
  }
};

TEST_F(Verify, FindsNothingInARecordThatIsWhole) {
  write(100);
  const Verdict found = verdict();
  EXPECT_EQ(found.finding, Finding::Intact) << found.problem;
  EXPECT_EQ(found.records, 100U);
  EXPECT_EQ(found.first_id, 1U);
  EXPECT_EQ(found.last.id, 100U);
}

TEST_F(Verify, FindsNothingWhereThereIsNoRecord) {
  EXPECT_EQ(verdict().finding, Finding::Intact);
  EXPECT_EQ(verdict().records, 0U);
}

TEST_F(Verify, FindsAChangedRecord) {
  write(20);
  auto lines = lines_of(segment());
  lines[9].replace(lines[9].find("echo"), 4, "evil");
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Changed);
  EXPECT_EQ(verdict().at, 10U);
}

TEST_F(Verify, FindsARecordThatWasChangedWithItsHash) {
  write(20);
  auto lines = lines_of(segment());
  lines[9] = rehash(lines[9], "echo", "evil");
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Changed);
  EXPECT_EQ(verdict().at, 10U);
}

TEST_F(Verify, FindsTheLastRecordChangedWithItsHash) {
  write(20);
  auto lines = lines_of(segment());
  lines[19] = rehash(lines[19], "echo", "evil");
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Changed);
  EXPECT_EQ(verdict().at, 20U);
}

TEST_F(Verify, FindsAMissingRecord) {
  write(20);
  auto lines = lines_of(segment());
  lines.erase(lines.begin() + 4, lines.begin() + 7);
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Missing);
  EXPECT_EQ(verdict().at, 5U);
  EXPECT_THAT(verdict().problem, HasSubstr("5 to 7"));
}

TEST_F(Verify, FindsTheFirstRecordsMissing) {
  write(20);
  auto lines = lines_of(segment());
  lines.erase(lines.begin(), lines.begin() + 3);
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Missing);
  EXPECT_EQ(verdict().at, 1U);
}

TEST_F(Verify, FindsSwappedRecords) {
  write(20);
  auto lines = lines_of(segment());
  std::swap(lines[4], lines[5]);
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Reordered);
  EXPECT_EQ(verdict().at, 5U);
}

TEST_F(Verify, FindsARepeatedRecord) {
  write(20);
  auto lines = lines_of(segment());
  lines.insert(lines.begin() + 5, lines[4]);
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Reordered);
  EXPECT_EQ(verdict().at, 5U);
}

TEST_F(Verify, FindsARemovedTail) {
  write(20);
  auto lines = lines_of(segment());
  lines.resize(15);
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Missing);
  EXPECT_EQ(verdict().at, 16U);
}

TEST_F(Verify, FindsThatEverythingWasRemoved) {
  write(20);
  std::filesystem::remove(segment());
  EXPECT_EQ(verdict().finding, Finding::Missing);
  EXPECT_EQ(verdict().at, 1U);
}

TEST_F(Verify, SaysThatTheHeadIsMissing) {
  write(20);
  std::filesystem::remove(options_.directory / kHeadName);
  EXPECT_EQ(verdict().finding, Finding::Missing);
  EXPECT_THAT(verdict().problem, HasSubstr("head"));
}

TEST_F(Verify, FindsATailThatWasRemovedWithTheHeadByAMarkKeptElsewhere) {
  write(20);
  const Mark kept = verdict().last;
  auto lines = lines_of(segment());
  lines.resize(15);
  put_lines(segment(), lines);
  const auto link = read_link(lines.back());
  ASSERT_TRUE(link);
  std::ofstream(options_.directory / kHeadName) << encode_mark({15, std::string(link->hash)});
  EXPECT_EQ(verdict().finding, Finding::Intact);  // nothing here can tell
  const auto found = verify(options_.directory, kept);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->finding, Finding::Missing);
  EXPECT_EQ(found->at, 16U);
}

TEST_F(Verify, FindsARemovedSegment) {
  options_.segment_bytes = 2000;
  write(40);
  ASSERT_GT(list_segments(options_.directory)->size(), 3U);
  EXPECT_EQ(verdict().finding, Finding::Intact) << verdict().problem;
  std::filesystem::remove(segment(1));
  EXPECT_EQ(verdict().finding, Finding::Missing);
}

TEST_F(Verify, FindsGarbage) {
  write(20);
  auto lines = lines_of(segment());
  lines[7] = std::string(300, 'x');
  put_lines(segment(), lines);
  EXPECT_EQ(verdict().finding, Finding::Unreadable);
  EXPECT_EQ(verdict().at, 8U);
}

TEST_F(Verify, AcceptsAnUnfinishedLastLineAsBeingWritten) {
  write(20);
  std::ofstream(segment(), std::ios::app) << R"({"id":21,"prev":")";
  EXPECT_EQ(verdict().finding, Finding::Intact);
  EXPECT_TRUE(verdict().is_torn);
}

TEST_F(Verify, TakesGarbageBehindTheLastRecordForNoRecord) {
  write(20);
  std::ofstream(segment(), std::ios::app) << std::string(500, '\0');
  EXPECT_EQ(verdict().finding, Finding::Unreadable);
  EXPECT_EQ(verdict().at, 21U);
}

}  // namespace
}  // namespace nutshell::audit
