// Reads a file in blocks of whole lines, with bounded memory. Does not map the file: a mapped file
// that shrinks kills its reader.
#pragma once

#include <memory>
#include <string_view>

namespace nutshell::init::search {

// Keeps its memory between files.
class LineWindow {
 public:
  struct Block {
    std::string_view text;  // whole lines, the last perhaps without its newline
    std::size_t fresh = 0;  // offset of the first line that was not in the block before
    bool is_cut = false;    // the last line goes on: it is longer than a window
    bool is_last = false;   // nothing comes after it
  };
  enum class Size { Lines, WholeFile };  // the whole file, as far as a window goes

  void start(int fd, Size size = Size::Lines);

  // Returns the next lines, behind the last `kept` bytes of the block before; empty at the end.
  Block next(std::size_t kept = 0);
  // Skips the rest of a cut line.
  void skip_line();

  static constexpr std::size_t kMostBytes = 16U << 20U;       // a longer line is cut
  static constexpr std::size_t kMostWholeBytes = 64U << 20U;  // of a file taken as a whole

 private:
  void read_more();
  void grow();
  [[nodiscard]] std::size_t most() const {
    return size_ == Size::WholeFile ? kMostWholeBytes : kMostBytes;
  }

  int fd_ = -1;
  Size size_ = Size::Lines;
  std::unique_ptr<char[]> bytes_;  // NOLINT(modernize-avoid-c-arrays): not initialised
  std::size_t room_ = 0;
  std::size_t filled_ = 0;
  std::size_t block_end_ = 0;
  bool is_at_end_ = false;
};

}  // namespace nutshell::init::search
