// Replays the files the fuzzers start from, and those that once broke something.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/file.h"
#include "compaction/parser.h"
#include "entry_points.h"

namespace nutshell::fuzz {
namespace {

namespace fs = std::filesystem;

// Runs with each file whole, and cut at a few places.
void replay(const fs::path& name, const std::function<void(std::string_view)>& entry) {
  std::size_t files = 0;
  for (const auto& file : fs::directory_iterator(fs::path(NUTSHELL_CORPUS) / name)) {
    const auto bytes = read_file(file.path());
    ASSERT_TRUE(bytes) << bytes.error().message;
    SCOPED_TRACE(file.path().native());
    entry(*bytes);
    for (const std::size_t part : {2U, 3U, 5U}) {
      entry(std::string_view(*bytes).substr(0, bytes->size() / part));
    }
    ++files;
  }
  EXPECT_GT(files, 0U) << "no corpus";
}

TEST(FuzzCorpus, FramesAreRead) {
  replay("frame", fuzz_frame);
}

TEST(FuzzCorpus, ClientReturnsWhateverInitSends) {
  replay("exec_loop", fuzz_exec_loop);
}

TEST(FuzzCorpus, NamesAreUnderstoodOrRefused) {
  replay("names", fuzz_names);
}

TEST(FuzzCorpus, BeginningsOfProxyConnectionsAreUnderstoodOrRefused) {
  replay("proxy", fuzz_proxy);
}

TEST(FuzzCorpus, AnswersAndFilesOfKubernetesAreReadOrRefused) {
  replay("kubernetes", fuzz_kubernetes);
}

TEST(FuzzCorpus, InitReturnsWhateverTheHostSends) {
  replay("init_input", fuzz_init_input);
}

TEST(FuzzCorpus, ConfigFilesAreReadOrRefused) {
  replay("config", fuzz_config);
}

TEST(FuzzCorpus, IgnoreFilesAreReadOrPassedOver) {
  replay("ignore", fuzz_ignore);
}

TEST(FuzzCorpus, HeadersOfImagesAreReadOrRefused) {
  replay("image_header", fuzz_image_header);
}

TEST(FuzzCorpus, AnyOutputIsRendered) {
  replay("compaction", fuzz_compaction);
}

// Fuzzing a parser that recognises none of its own files would be useless.
TEST(FuzzCorpus, EveryParserReturnsAndKnowsItsFiles) {
  for (const auto& parser : compaction::parsers()) {
    const auto folder = folder_of(parser.name);
    std::size_t recognised = 0;
    replay(fs::path("parsers") / folder,
           [&](std::string_view input) { recognised += fuzz_parser(folder, input) ? 1U : 0U; });
    EXPECT_GT(recognised, 0U) << parser.name;
  }
}

TEST(FuzzCorpus, McpMessagesAreAnsweredOrRefused) {
  replay("mcp", fuzz_mcp);
}

TEST(FuzzCorpus, ImagesTextsAreReadOrRefused) {
  replay("images", fuzz_images);
}

TEST(FuzzCorpus, JudgedFilesAreReadOrRefused) {
  replay("host_trust", fuzz_host_trust);
}

TEST(FuzzCorpus, ArchivesStayInTheirDirectory) {
  replay("unpack", fuzz_unpack);
}

TEST(FuzzCorpus, RequestsOfSandboxesArePassedOnAsTheyWereRead) {
  replay("egress", fuzz_egress);
}

TEST(FuzzCorpus, RequestsAndFramesAreReadOrRefused) {
  replay("http", fuzz_http);
}

}  // namespace
}  // namespace nutshell::fuzz
