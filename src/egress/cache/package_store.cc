#include "egress/cache/package_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/random_id.h"
#include "base/sha256.h"

namespace nutshell::egress {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::size_t kMostEntryBytes = 64U << 10U;
constexpr std::uint64_t kLeastFileBytes = 4096;  // what a file takes on the disk
constexpr std::chrono::hours kAbandoned{
    1};  // a file that nothing refers to, and no writer still uses

using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

fs::path entry_of(const fs::path& directory, const std::string& key) {
  return directory / "entries" / sha256_hex(key);
}

fs::path content_of(const fs::path& directory, const std::string& hash) {
  return directory / "contents" / hash;
}

bool is_hash(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The first line is "HASH SECONDS"; then the key, so that nothing depends on SHA-256 alone; then
// one line for each header.
struct Entry {
  std::string hash;
  std::int64_t checked_at = 0;
  std::string key;
  http::Headers headers;
};

std::string text_of(const Entry& entry) {
  std::string text = fmt::format("{} {}\n{}\n", entry.hash, entry.checked_at, entry.key);
  for (const http::Header& header : entry.headers)
    text += fmt::format("{}: {}\n", header.name, header.value);
  return text;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<Entry> parse_entry(std::string_view text) {
  Entry entry;
  const std::string_view first = next_line(text);
  const std::size_t space = first.find(' ');
  if (space == std::string_view::npos || !is_hash(first.substr(0, space))) return std::nullopt;
  entry.hash = first.substr(0, space);
  const std::string_view seconds = first.substr(space + 1);
  if (std::from_chars(seconds.data(), seconds.data() + seconds.size(), entry.checked_at).ec !=
      std::errc()) {
    return std::nullopt;
  }
  entry.key = next_line(text);
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return std::nullopt;
    entry.headers.add(std::string(line.substr(0, colon)), std::string(line.substr(colon + 2)));
  }
  return entry;
}

Result<> put(const fs::path& directory, const fs::path& place, std::string_view bytes) {
  const fs::path made = directory / "new" / random_id(16);
  TRY(write_file(made, bytes, 0600));
  if (::rename(made.c_str(), place.c_str()) != 0) return syscall_failure("rename", made.native());
  return {};
}

std::int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
      .count();
}

// A file of the store with its size and the moment of its last use.
struct Kept {
  fs::path path;
  std::uint64_t size = 0;
  std::int64_t used_at = 0;
};

std::vector<Kept> files_in(const fs::path& directory) {
  std::vector<Kept> files;
  std::error_code ignored;  // files come and go while other processes use the store
  for (const auto& file : fs::directory_iterator(directory, ignored)) {
    struct stat about {};
    if (::lstat(file.path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    files.push_back({file.path(), static_cast<std::uint64_t>(about.st_size), about.st_mtim.tv_sec});
  }
  return files;
}

void remove_abandoned(const fs::path& directory, const std::set<std::string>& used) {
  const std::int64_t limit =
      now_seconds() - std::chrono::duration_cast<std::chrono::seconds>(kAbandoned).count();
  for (const Kept& file : files_in(directory)) {
    if (file.used_at < limit && used.count(file.path.filename().native()) == 0)
      ::unlink(file.path.c_str());
  }
}

}  // namespace

struct PackageStore::Writer::State {
  const PackageStore* store = nullptr;
  std::string key;
  fs::path path;
  UniqueFd file;
  Digest digest{nullptr, EVP_MD_CTX_free};
  std::uint64_t size = 0;
};

PackageStore::Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackageStore::Writer::Writer(Writer&&) noexcept = default;
PackageStore::Writer& PackageStore::Writer::operator=(Writer&&) noexcept = default;
PackageStore::Writer::~Writer() {
  if (state_ && state_->file) ::unlink(state_->path.c_str());
}

Result<> PackageStore::Writer::append(std::string_view bytes) {
  state_->size += bytes.size();
  if (state_->size > state_->store->most_bytes_ / 2) {
    return failure(ErrorCode::TooLarge, "the download is too large to be kept");
  }
  if (EVP_DigestUpdate(state_->digest.get(), bytes.data(), bytes.size()) != 1) {
    return failure(ErrorCode::Internal, "compute a SHA-256");
  }
  return write_all(state_->file.get(), bytes);
}

Result<> PackageStore::Writer::keep(const http::Headers& headers) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(state_->digest.get(), bytes.data(), &size) != 1) {
    return failure(ErrorCode::Internal, "compute a SHA-256");
  }
  Entry entry;
  for (unsigned i = 0; i < size; ++i)
    entry.hash += fmt::format("{:02x}", bytes.at(i));
  entry.checked_at = now_seconds();
  entry.key = state_->key;
  entry.headers = headers;
  const fs::path& directory = state_->store->directory_;
  const fs::path content = content_of(directory, entry.hash);
  if (::rename(state_->path.c_str(), content.c_str()) != 0)
    return syscall_failure("rename", state_->path.native());
  state_->file.reset();
  TRY(put(directory, entry_of(directory, entry.key), text_of(entry)));
  // One time in sixteen is often enough for a bound that is not exact.
  return random_number() % 16 == 0 ? state_->store->trim() : Result<>();
}

Result<PackageStore> PackageStore::open(const fs::path& directory, std::uint64_t most_bytes) {
  std::error_code error;
  for (const char* name : {"", "entries", "contents", "new"}) {
    fs::create_directories(directory / name, error);
    if (error) return syscall_failure(error.value(), "mkdir", (directory / name).native());
  }
  if (::chmod(directory.c_str(), 0700) != 0) return syscall_failure("chmod", directory.native());
  PackageStore store(directory, most_bytes);
  TRY(store.trim());
  return store;
}

std::optional<StoredAnswer> PackageStore::find(const std::string& key) const {
  const fs::path place = entry_of(directory_, key);
  const auto text = read_file(place, kMostEntryBytes);
  if (!text) return std::nullopt;
  auto entry = parse_entry(*text);
  if (!entry || entry->key != key) return std::nullopt;
  const fs::path content = content_of(directory_, entry->hash);
  auto body = open_file(content, O_RDONLY | O_NOFOLLOW);
  struct stat about {};
  if (!body || ::fstat(body->get(), &about) != 0) return std::nullopt;
  // Marks both as used now, for trim().
  ::utimensat(AT_FDCWD, place.c_str(), nullptr, 0);
  ::utimensat(AT_FDCWD, content.c_str(), nullptr, 0);
  StoredAnswer answer;
  answer.headers = std::move(entry->headers);
  answer.size = static_cast<std::uint64_t>(about.st_size);
  answer.checked_at = system_clock::time_point(std::chrono::seconds(entry->checked_at));
  answer.body = std::move(*body);
  return answer;
}

Result<> PackageStore::confirm(const std::string& key, const StoredAnswer& answer) const {
  const fs::path place = entry_of(directory_, key);
  auto entry = parse_entry(TRY(read_file(place, kMostEntryBytes)));
  if (!entry || entry->key != key) return {};  // it was evicted meanwhile
  entry->checked_at = now_seconds();
  entry->headers = answer.headers;
  return put(directory_, place, text_of(*entry));
}

Result<PackageStore::Writer> PackageStore::begin(const std::string& key) const {
  auto state = std::make_unique<Writer::State>();
  state->store = this;
  state->key = key;
  state->path = directory_ / "new" / random_id(16);
  state->digest.reset(EVP_MD_CTX_new());
  if (!state->digest || EVP_DigestInit_ex(state->digest.get(), EVP_sha256(), nullptr) != 1) {
    return failure(ErrorCode::Internal, "compute a SHA-256");
  }
  state->file = TRY(open_file(state->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return Writer(std::move(state));
}

Result<> PackageStore::trim() const {
  const UniqueFd lock = TRY(open_file(directory_ / "lock", O_RDWR | O_CREAT, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return {};  // another process does it
  auto entries = files_in(directory_ / "entries");
  std::sort(entries.begin(), entries.end(),
            [](const Kept& a, const Kept& b) { return a.used_at > b.used_at; });
  std::set<std::string> used;
  std::uint64_t bytes = 0;
  for (const Kept& file : entries) {
    const auto text = read_file(file.path, kMostEntryBytes);
    const auto entry = text ? parse_entry(*text) : std::nullopt;
    struct stat about {};
    const bool is_whole =
        entry && ::lstat(content_of(directory_, entry->hash).c_str(), &about) == 0;
    bytes += std::max<std::uint64_t>(text ? text->size() : 0, kLeastFileBytes);
    if (is_whole && used.count(entry->hash) == 0)
      bytes += std::max(static_cast<std::uint64_t>(about.st_size), kLeastFileBytes);
    if (is_whole && bytes <= most_bytes_) {
      used.insert(entry->hash);
      continue;
    }
    ::unlink(file.path.c_str());
    if (is_whole && used.count(entry->hash) == 0)
      ::unlink(content_of(directory_, entry->hash).c_str());
  }
  remove_abandoned(directory_ / "contents", used);
  remove_abandoned(directory_ / "new", {});
  return {};
}

}  // namespace nutshell::egress
