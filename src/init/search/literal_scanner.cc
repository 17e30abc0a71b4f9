#include "init/search/literal_scanner.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#ifdef __clang__
// The C library's header needs C's name for bool. In strict C++ only g++ knows it.
using _Bool = bool;  // NOLINT(bugprone-reserved-identifier)
#endif
#include <sys/platform/x86.h>
#endif

namespace nutshell::init::search {
namespace {

constexpr char kCaseBit = 0x20;

char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | kCaseBit) : byte;
}

bool is_letter(char byte) {
  return lower(byte) >= 'a' && lower(byte) <= 'z';
}

// Asks the C library, which knows it since its start: the compiler's built-in would execute CPUID a
// dozen times before main(), and each time leave a virtual machine.
bool has_vectors() {
#ifdef __x86_64__
  return CPU_FEATURE_ACTIVE(AVX2);
#else
  return false;
#endif
}

#ifdef __x86_64__

// A byte to look for in all lanes, and the bit in which its cases differ.
struct Lanes {
  __m256i byte;
  __m256i fold;
};

__attribute__((target("avx2"))) Lanes spread(char byte, char fold) {
  return {_mm256_set1_epi8(byte), _mm256_set1_epi8(fold)};
}

__attribute__((target("avx2"))) __m256i equal(const char* place, const Lanes& lanes) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(place));
  return _mm256_cmpeq_epi8(_mm256_or_si256(bytes, lanes.fold), lanes.byte);
}

// Returns the first of `count` places (a multiple of 64) that has both bytes, or `count`. The
// pointers are those of the two bytes at the first place.
__attribute__((target("avx2"))) std::size_t next_pair(const char* one, const char* other,
                                                      std::size_t count, const Lanes& first,
                                                      const Lanes& second) {
  for (std::size_t at = 0; at < count; at += 64) {
    const __m256i low = _mm256_and_si256(equal(one + at, first), equal(other + at, second));
    const __m256i high =
        _mm256_and_si256(equal(one + at + 32, first), equal(other + at + 32, second));
    if (_mm256_testz_si256(_mm256_or_si256(low, high), _mm256_or_si256(low, high)) != 0) continue;
    const auto low_bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(low));
    const auto high_bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(high));
    return at + static_cast<std::size_t>(
                    std::countr_zero(low_bits | (static_cast<std::uint64_t>(high_bits) << 32U)));
  }
  return count;
}

#endif

}  // namespace

unsigned byte_rank(char byte) {
  // The most frequent bytes come first.
  constexpr std::string_view kFrequent =
      " etarnsioldcpumf\n_h.,()gb\";v=*-yx:k/"
      "w0>1&<{}2'jqz#3E\\SCTAI+4R|NPL8D6M5OBF[]!7F9UG%@VHWK?X$"
      "^YQZJ~`\t";
  const std::size_t place = kFrequent.find(byte);
  return place == std::string_view::npos ? 0 : static_cast<unsigned>(kFrequent.size() - place);
}

LiteralScanner::LiteralScanner(std::string_view literal, LetterCase letter_case)
    : literal_(literal),
      fold_(literal.size(), 0),
      is_folded_(letter_case == LetterCase::Folded),
      has_vectors_(has_vectors()) {
  for (std::size_t i = 0; is_folded_ && i < literal_.size(); ++i) {
    literal_[i] = lower(literal_[i]);
    if (is_letter(literal_[i])) fold_[i] = kCaseBit;
  }
  const auto rank = [this](std::size_t i) { return byte_rank(literal_[i]); };
  for (std::size_t i = 1; i < literal_.size(); ++i)
    if (rank(i) < rank(first_)) first_ = i;
  second_ = first_ == 0 ? literal_.size() - 1 : 0;
  for (std::size_t i = 0; i < literal_.size(); ++i)
    if (i != first_ && rank(i) < rank(second_)) second_ = i;
}

bool LiteralScanner::is_at(const char* place) const {
  if (!is_folded_) return std::memcmp(place, literal_.data(), literal_.size()) == 0;
  for (std::size_t i = 0; i < literal_.size(); ++i)
    if ((place[i] | fold_[i]) != literal_[i]) return false;
  return true;
}

std::size_t LiteralScanner::find(std::string_view text, std::size_t from) const {
  return has_vectors_ ? find_in_blocks(text, from) : find_plainly(text, from);
}

std::size_t LiteralScanner::find_plainly(std::string_view text, std::size_t from) const {
  if (!is_folded_) return text.find(literal_, from);
  for (; from + literal_.size() <= text.size(); ++from)
    if (is_at(text.data() + from)) return from;
  return std::string_view::npos;
}

#ifdef __x86_64__
__attribute__((target("avx2"))) std::size_t LiteralScanner::find_in_blocks(std::string_view text,
                                                                           std::size_t from) const {
  const Lanes first = spread(literal_[first_], fold_[first_]);
  const Lanes second = spread(literal_[second_], fold_[second_]);
  // Blocks are read whole: the last places, whose blocks would reach behind the text, are left out.
  const std::size_t reach = std::max(first_, second_);
  while (from + reach + 64 <= text.size()) {
    const std::size_t count = (text.size() - reach - from) / 64 * 64;
    const char* place = text.data() + from;
    from += next_pair(place + first_, place + second_, count, first, second);
    if (from == static_cast<std::size_t>(place - text.data()) + count) continue;
    if (from + literal_.size() <= text.size() && is_at(text.data() + from)) return from;
    ++from;
  }
  return find_plainly(text, from);
}
#else
std::size_t LiteralScanner::find_in_blocks(std::string_view text, std::size_t from) const {
  return find_plainly(text, from);
}
#endif

}  // namespace nutshell::init::search
