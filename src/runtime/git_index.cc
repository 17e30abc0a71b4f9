#include "runtime/git_index.h"

#include <cstdint>
#include <optional>

#include "base/sha256.h"
#include "runtime/folded_name.h"

namespace nutshell {
namespace {

constexpr std::size_t kHashBytes = 20;
constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kFixedBytes = 40 + kHashBytes + 2;  // of an entry, without its name
constexpr std::size_t kModeOffset = 24;
constexpr std::size_t kHashOffset = 40;
constexpr unsigned kExtended = 0x4000;
constexpr unsigned kNameLength = 0x0fff;

constexpr const char* kTorn = "is an index that cannot be understood";

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < size; ++i)
    number = (number << 8U) | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// Reads how many bytes to drop from the previous name (index version 4).
std::optional<std::uint64_t> take_cut(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int i = 0; i < 5; ++i) {
    if (at >= bytes.size()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value = i == 0 ? byte & 0x7fU : ((value + 1) << 7U) | (byte & 0x7fU);
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

bool leads_into_work_tree(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.back() == '/') return false;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != part.npos) return false;
    begin = end + 1;
  }
  for (const std::string& name : fold_path(path)) {
    if (name.empty() || is_git_name(name)) return false;
  }
  return true;
}

class IndexReader {
 public:
  explicit IndexReader(std::string_view bytes) : bytes_(bytes) {}

  std::string trouble() {
    if (bytes_.size() < kHeadBytes + kHashBytes || !bytes_.starts_with("DIRC")) return kTorn;
    version_ = number_at(bytes_, 4, 4);
    if (version_ < 2 || version_ > 4) return "is an index of an unknown version";
    const std::uint32_t count = number_at(bytes_, 8, 4);
    end_ = bytes_.size() - kHashBytes;
    at_ = kHeadBytes;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!take_entry()) return kTorn;
      if (!leads_into_work_tree(name_))
        return "is an index that names a path outside the work tree";
    }
    return trouble_with_extensions();
  }
  [[nodiscard]] const std::string& staged() const { return staged_; }
  [[nodiscard]] std::vector<std::string> take_names() && { return std::move(names_); }

 private:
  bool take_entry() {
    const std::size_t begin = at_;
    if (end_ - at_ < kFixedBytes) return false;
    const std::uint32_t flags = number_at(bytes_, at_ + kFixedBytes - 2, 2);
    at_ += kFixedBytes;
    if ((flags & kExtended) != 0) {
      if (version_ < 3 || end_ - at_ < 2) return false;
      at_ += 2;
    }
    std::size_t kept = 0;
    if (version_ == 4) {
      const auto cut = take_cut(bytes_.substr(0, end_), at_);
      if (!cut || *cut > name_.size()) return false;
      kept = name_.size() - static_cast<std::size_t>(*cut);
    }
    const std::size_t zero = bytes_.find('\0', at_);
    if (zero == std::string_view::npos || zero >= end_) return false;
    name_.resize(kept);
    name_ += bytes_.substr(at_, zero - at_);
    // Git takes the length of the name from the flags, so both must agree.
    const std::size_t length = flags & kNameLength;
    if (length != kNameLength ? length != name_.size() : name_.size() < kNameLength) return false;
    staged_ += bytes_.substr(begin + kModeOffset, 4);
    staged_ += bytes_.substr(begin + kHashOffset, kHashBytes);
    staged_ += bytes_.substr(begin + kFixedBytes - 2, (flags & kExtended) != 0 ? 4 : 2);
    staged_ += name_;
    staged_ += '\0';
    names_.push_back(name_);
    at_ = version_ == 4 ? zero + 1 : begin + ((zero - begin + 8) & ~std::size_t{7});
    return at_ <= end_;
  }

  std::string trouble_with_extensions() {
    while (at_ < end_) {
      if (end_ - at_ < 8) return kTorn;
      const std::string_view name = bytes_.substr(at_, 4);
      const std::size_t size = number_at(bytes_, at_ + 4, 4);
      // Other extensions give git entries from elsewhere (link, IEOT) or arguments for a program
      // (FSMN).
      if (name != "TREE" && name != "REUC" && name != "UNTR")
        return "is an index with a part that cannot be checked";
      at_ += 8;
      if (size > end_ - at_) return kTorn;
      at_ += size;
    }
    return {};
  }

  std::string_view bytes_;
  std::uint32_t version_ = 0;
  std::size_t end_ = 0;
  std::size_t at_ = 0;
  std::string name_;
  std::vector<std::string> names_;
  std::string staged_;  // paths, modes, objects and stages of all entries
};

}  // namespace

std::string trouble_with_index(std::string_view bytes) {
  return IndexReader(bytes).trouble();
}

std::string digest_of_staged(std::string_view bytes) {
  IndexReader reader(bytes);
  return reader.trouble().empty() ? sha256_hex(reader.staged()) : std::string();
}

std::vector<std::string> paths_in_index(std::string_view bytes) {
  IndexReader reader(bytes);
  (void)reader.trouble();  // what was read before it are paths all the same
  return std::move(reader).take_names();
}

}  // namespace nutshell
