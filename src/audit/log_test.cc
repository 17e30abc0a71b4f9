#include "audit/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "audit/ocsf.h"
#include "audit/record_fixture.h"
#include "base/file.h"

namespace nutshell::audit {
namespace {

using Finding = Verdict::Finding;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using LogTest = RecordTest;

TEST_F(LogTest, GivesNumbersWithoutGapsAlsoAfterItWasOpenedAgain) {
  write(3);
  write(2);
  const auto records = read_records(options_.directory, {});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 5U);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ((*records)[i].id, i + 1);
  EXPECT_EQ(verdict().finding, Finding::Intact);
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(LogTest, SaysNothingOfARecordThatWasNeverUsed) {
  for (int start = 0; start < 3; ++start)
    open();
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_EQ(verdict().finding, Finding::Intact);
  // Killed between making the first segment and writing the head.
  std::ofstream(options_.directory / kHeadName, std::ios::trunc);
  open();
  EXPECT_THAT(notices_, IsEmpty());
  write(1);
  EXPECT_EQ(verdict().finding, Finding::Intact);
}

TEST_F(LogTest, KeepsWhatWasSaid) {
  Entry said = entry(0);
  said.session = "s\"1";
  said.of = 7;
  said.input_sha256 = std::string(64, 'a');
  said.output_sha256 = std::string(64, 'b');
  said.output_bytes = 12;
  said.duration = std::chrono::microseconds(34);
  said.detail = "line\n\x01\xff ü";
  ASSERT_TRUE(open()->append(said));
  const auto records = read_records(options_.directory, {});
  ASSERT_EQ(records->size(), 1U);
  const Entry& got = records->front().entry;
  EXPECT_EQ(got.session, said.session);
  EXPECT_EQ(got.of, 7U);
  EXPECT_EQ(got.input_sha256, said.input_sha256);
  EXPECT_EQ(got.output_sha256, said.output_sha256);
  EXPECT_EQ(got.output_bytes, 12U);
  EXPECT_EQ(got.duration, said.duration);
  EXPECT_EQ(got.detail, "line\n\x01\xef\xbf\xbd ü");
  EXPECT_EQ(got.arguments, said.arguments);
}

TEST_F(LogTest, RefusesASecondWriter) {
  const auto log = open();
  EXPECT_FALSE(Log::open(options_, [](std::string_view) {}));
}

TEST_F(LogTest, TakesATornEndOffAndSaysSo) {
  write(10);
  std::ofstream(segment(), std::ios::app) << R"({"id":11,"prev":"0000)";
  const auto log = open();
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_THAT(notices_[0], HasSubstr("torn"));
  ASSERT_TRUE(log->append(entry(1)));
  EXPECT_EQ(verdict().finding, Finding::Intact) << verdict().problem;
  const auto records = read_records(options_.directory, {.action = "audit.repair"});
  ASSERT_EQ(records->size(), 1U);
  EXPECT_EQ(records->front().id, 11U);
}

TEST_F(LogTest, DoesNotHideThatTheTailWasRemoved) {
  write(10);
  auto lines = lines_of(segment());
  lines.resize(6);
  put_lines(segment(), lines);
  const auto log = open();
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_THAT(notices_[0], HasSubstr("7 to 10"));
  ASSERT_TRUE(log->append(entry(1)));
  EXPECT_EQ(verdict().finding, Finding::Missing);
  EXPECT_EQ(verdict().at, 7U);
}

TEST_F(LogTest, DoesNotHideThatAllWasRemoved) {
  write(10);
  std::filesystem::remove(segment());
  const auto log = open();
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("1 to 10")));
  EXPECT_EQ(verdict().finding, Finding::Missing);
}

TEST_F(LogTest, RefusesADamagedEnd) {
  write(10);
  std::ofstream(segment(), std::ios::app) << std::string(1U << 20U, 'x');
  const std::string before = text_of(segment());
  const auto log = Log::open(options_, [](std::string_view) {});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::Corrupt);
  EXPECT_EQ(text_of(segment()), before);  // nothing is overwritten
}

TEST_F(LogTest, RotatesAndStaysWithinItsBound) {
  options_.segment_bytes = 2000;
  options_.most_segments = 4;
  write(200);
  EXPECT_LE(list_segments(options_.directory)->size(), 4U);
  EXPECT_EQ(verdict().finding, Finding::Intact) << verdict().problem;
  EXPECT_GT(verdict().first_id, 100U);
  EXPECT_EQ(verdict().last.id, 200U);
  write(50);
  EXPECT_EQ(verdict().finding, Finding::Intact) << verdict().problem;
  std::filesystem::remove(segment(0));
  EXPECT_EQ(verdict().finding, Finding::Missing);
}

// The daemon died, or the disk was full, between a new segment and its first record.
TEST_F(LogTest, GoesOnInASegmentThatHasNoRecordYet) {
  write(10);
  std::ofstream(segment_path(options_.directory, 11)).flush();
  write(5);
  EXPECT_THAT(notices_, ElementsAre());
  EXPECT_EQ(verdict().finding, Finding::Intact) << verdict().problem;
  EXPECT_EQ(verdict().last.id, 15U);
}

// As the child of a killed daemon does that is not yet the program that it was made for.
TEST_F(LogTest, WaitsForALockThatIsAboutToGo) {
  write(1);
  UniqueFd head = std::move(*open_file(options_.directory / kHeadName, O_RDWR));
  ASSERT_EQ(::flock(head.get(), LOCK_EX | LOCK_NB), 0);
  std::jthread child([&head] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    head.reset();
  });
  EXPECT_TRUE(Log::open(options_, [](std::string_view) {}));
}

TEST_F(LogTest, IsOneChainWhateverTheNumberOfWriters) {
  options_.durability = Durability::Each;
  const auto log = open();
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < 8; ++writer) {
    writers.emplace_back([&log] {
      for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(log->append(entry(i)));
    });
  }
  writers.clear();
  EXPECT_EQ(verdict().finding, Finding::Intact) << verdict().problem;
  EXPECT_EQ(verdict().last.id, 400U);
}

TEST_F(LogTest, FailsWithoutHarmWhenTheDiskIsFull) {
  const auto log = open();
  ASSERT_TRUE(log->append(entry(0)));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const auto full = std::filesystem::file_size(segment()) + 20;
  const rlimit small{full, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(log->append(entry(1)));
  EXPECT_FALSE(log->trouble().empty());
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(log->append(entry(2)));
  EXPECT_TRUE(log->trouble().empty());
  EXPECT_EQ(verdict().finding, Finding::Intact) << verdict().problem;
  EXPECT_EQ(verdict().last.id, 2U);
}

TEST_F(LogTest, NoticesThatItsFileWasRemoved) {
  const auto log = open();
  ASSERT_TRUE(log->append(entry(0)));
  std::filesystem::remove(segment());
  EXPECT_FALSE(log->sync());
  EXPECT_THAT(log->trouble(), HasSubstr("removed"));
}

TEST_F(LogTest, CanBeAskedForSome) {
  write(20);
  EXPECT_EQ(read_records(options_.directory, {.tenant = "odd"})->size(), 10U);
  EXPECT_EQ(read_records(options_.directory, {.tenant = "odd", .after_id = 10})->size(), 5U);
  EXPECT_EQ(read_records(options_.directory, {.most = 3})->size(), 3U);
  EXPECT_EQ(read_records(options_.directory, {.sandbox = "ffff"})->size(), 0U);
  EXPECT_EQ(read_records(options_.directory, {.since_us = INT64_MAX - 1})->size(), 0U);
  // A tenant that is the text of another member is not that tenant.
  EXPECT_EQ(read_records(options_.directory, {.tenant = "uid 1000"})->size(), 0U);
}

// Long enough that the place of a page is searched for, with lines of very different lengths.
TEST_F(LogTest, GivesTheSamePagesWhereverTheyBegin) {
  options_.segment_bytes = 400'000;
  const auto log = open();
  for (int i = 0; i < 4000; ++i) {
    Entry one = entry(i);
    if (i % 500 == 0) one.detail = std::string(60'000, 'd');
    if (i % 7 == 0) one.detail = R"({"id":1,"prev":"\n{"id":2,)";
    ASSERT_TRUE(log->append(one));
  }
  for (const std::uint64_t after : {0U, 1U, 499U, 500U, 501U, 777U, 1500U, 2001U, 3990U, 3999U}) {
    const auto page = read_records(options_.directory, {.after_id = after, .most = 5});
    ASSERT_EQ(page->size(), std::min<std::uint64_t>(5, 4000 - after)) << after;
    for (std::size_t i = 0; i < page->size(); ++i)
      EXPECT_EQ((*page)[i].id, after + 1 + i);
  }
  EXPECT_EQ(read_records(options_.directory, {.after_id = 4000})->size(), 0U);
  EXPECT_EQ(read_records(options_.directory, {.after_id = UINT64_MAX})->size(), 0U);
}

TEST_F(LogTest, ReturnsTheIntactPartOfATamperedFile) {
  options_.segment_bytes = 4U << 20U;
  write(4000);
  auto lines = lines_of(segment());
  for (std::size_t i = 1000; i < 3000; ++i)
    lines[i] = "nothing of ours, but as long as a line of the record is, more or less, or longer";
  put_lines(segment(), lines);
  const auto page = read_records(options_.directory, {.after_id = 900, .most = 200});
  ASSERT_EQ(page->size(), 200U);
  EXPECT_EQ(page->front().id, 901U);
  EXPECT_EQ(page->back().id, 3100U);
}

TEST_F(LogTest, IsSearchedByTimeWhateverElseALineHolds) {
  write(3);
  const auto all = *read_records(options_.directory, {});
  const Filter second{.since_us = all[1].time_us, .until_us = all[1].time_us};
  const auto found = *read_records(options_.directory, second);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const Record& r) { return r.id == 2; }));
  EXPECT_EQ(read_records(options_.directory, {.until_us = all[0].time_us - 1})->size(), 0U);
  EXPECT_EQ(read_records(options_.directory, {.since_us = all[0].time_us})->size(), 3U);
}

TEST_F(LogTest, ExportsInTheShapeThatCollectorsRead) {
  write(1);
  const std::string event = to_ocsf(read_records(options_.directory, {})->front());
  EXPECT_THAT(event, HasSubstr(R"("class_uid":1007)"));
  EXPECT_THAT(event, HasSubstr(R"("type_uid":100701)"));
  EXPECT_THAT(event, HasSubstr(R"("cmd_line":"echo 0")"));
  EXPECT_THAT(event, HasSubstr(R"("status_id":1)"));
}

}  // namespace
}  // namespace nutshell::audit
