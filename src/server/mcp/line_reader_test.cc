#include "server/mcp/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/file.h"
#include "base/unique_fd.h"

namespace nutshell::mcp {
namespace {

struct Pipe {
  UniqueFd reader, writer;
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
};

std::optional<LineReader::Line> next(LineReader& reader) {
  auto line = reader.next(-1);
  EXPECT_TRUE(line);
  return line ? *line : std::nullopt;
}

TEST(LineReader, GivesLinesHoweverTheyCome) {
  Pipe pipe;
  LineReader reader(pipe.reader.get(), 100);
  std::thread writer([&pipe] {
    for (const char* piece : {"a", "b\ncd\n", "\n", "last"})
      ASSERT_TRUE(write_all(pipe.writer.get(), piece));
    pipe.writer.reset();
  });
  EXPECT_EQ(next(reader)->text, "ab");
  EXPECT_EQ(next(reader)->text, "cd");
  EXPECT_EQ(next(reader)->text, "");
  EXPECT_FALSE(next(reader));  // a line without its end is none
  writer.join();
}

TEST(LineReader, SkipsALineThatIsTooLongAndTellsOnce) {
  Pipe pipe;
  LineReader reader(pipe.reader.get(), 1000);
  std::thread writer([&pipe] {
    ASSERT_TRUE(write_all(pipe.writer.get(), std::string(3'000'000, 'x') + "\nshort\n"));
    pipe.writer.reset();
  });
  EXPECT_TRUE(next(reader)->is_too_long);
  EXPECT_EQ(next(reader)->text, "");  // its end
  EXPECT_EQ(next(reader)->text, "short");
  EXPECT_FALSE(next(reader));
  writer.join();
}

TEST(LineReader, EndsWhenItIsInterrupted) {
  Pipe pipe;
  Pipe interrupt;
  ASSERT_TRUE(write_all(interrupt.writer.get(), "!"));
  LineReader reader(pipe.reader.get(), 1000);
  const auto line = reader.next(interrupt.reader.get());
  ASSERT_TRUE(line);
  EXPECT_FALSE(*line);
}

}  // namespace
}  // namespace nutshell::mcp
