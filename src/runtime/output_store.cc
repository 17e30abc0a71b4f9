#include "runtime/output_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/directory.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/user_directory.h"
#include "core/json_text.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostFile = 2 * (kMostHeadBytes + 2 * kMostTailBytes) + (1U << 20U);
constexpr std::size_t kMostCommand = 64U << 10U;
constexpr std::uint64_t kOverhead = 4096;  // a file takes a block even when it is empty

bool is_output_id(std::string_view id) {
  return id.size() >= 5 && id.size() <= 12 && id.front() == 'o' &&
         id.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

bool may_name_sandbox(std::string_view id) {
  return !id.empty() && id.size() <= 64 &&
         id.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos;
}

// Shortens the beginning and the end of each stream.
StoredOutput cut_to(std::uint64_t most_bytes, StoredOutput output) {
  const std::uint64_t share = most_bytes / 4;
  for (StoredStream* stream : {&output.output, &output.error}) {
    if (stream->head.size() > share) {
      // If nothing is missing yet, the tail is the end of the head.
      if (stream->missing == 0 && stream->tail.empty()) {
        stream->tail = stream->head.substr(share);
      } else {
        stream->missing += stream->head.size() - share;
      }
      stream->head.resize(share);
    }
    if (stream->tail.size() > share) {
      stream->missing += stream->tail.size() - share;
      stream->tail.erase(0, stream->tail.size() - share);
    }
  }
  return output;
}

// The first line holds the lengths of the parts that follow.
std::string pack(const StoredOutput& output) {
  const auto sizes = [](const StoredStream& stream) {
    return nlohmann::json::array({stream.head.size(), stream.missing, stream.tail.size()});
  };
  nlohmann::json header;
  header["command"] = output.command.substr(0, kMostCommand);
  header["output"] = sizes(output.output);
  header["error"] = sizes(output.error);
  std::string bytes = dump_json(header) + "\n";
  bytes.reserve(bytes.size() + output.output.head.size() + output.output.tail.size() +
                output.error.head.size() + output.error.tail.size());
  for (const StoredStream* stream : {&output.output, &output.error})
    bytes.append(stream->head).append(stream->tail);
  return bytes;
}

void unpack_stream(StoredStream& stream, const nlohmann::json& sizes, std::string_view& rest) {
  const auto take = [&rest](std::size_t size) {
    const std::string_view part = rest.substr(0, size);
    rest.remove_prefix(part.size());
    return std::string(part);
  };
  stream.head = take(sizes.at(0).get<std::size_t>());
  stream.missing = sizes.at(1).get<std::uint64_t>();
  stream.tail = take(sizes.at(2).get<std::size_t>());
}

Result<StoredOutput> unpack(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return failure(ErrorCode::NotFound, "it is not whole");
  try {
    const auto header = nlohmann::json::parse(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
    StoredOutput output;
    output.command = header.at("command").get<std::string>();
    unpack_stream(output.output, header.at("output"), bytes);
    unpack_stream(output.error, header.at("error"), bytes);
    return output;
  } catch (const nlohmann::json::exception&) {
    return failure(ErrorCode::NotFound, "it is not whole");
  }
}

// Holds a lock while the counters change.
Result<UniqueFd> lock(int directory) {
  UniqueFd file = TRY(open_at(directory, "usage", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return syscall_failure("lock", "usage");
  }
  return file;
}

Failure not_kept(const std::string& id) {
  return failure(ErrorCode::Expired,
                 fmt::format("{} was never given, or went to make room ({} MiB are kept)", id,
                             OutputStore::kMostBytes >> 20U));
}

// A slot of the file `shown`: the hash of the last answer to a question.
struct Shown {
  std::array<char, 32> question{};
  std::array<char, 32> text{};
  std::array<char, 16> id{};
};
constexpr std::size_t kShownSlots = 4096;

std::array<char, 32> digest(std::string_view bytes) {
  std::array<char, 32> half{};  // 128 bits of the hash, as hexadecimal text
  sha256_hex(bytes).copy(half.data(), half.size());
  return half;
}

}  // namespace

Result<fs::path> outputs_place() {
  return TRY(open_user_directory()) / "outputs";
}

Result<OutputStore> OutputStore::open(const fs::path& place, const std::string& sandbox,
                                      Bounds bounds) {
  if (!may_name_sandbox(sandbox))
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is no sandbox id", sandbox));
  fs::path path = place / sandbox;
  TRY(make_directory(place));
  TRY(make_directory(path));
  UniqueFd directory = TRY(open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return OutputStore(std::move(path), std::move(directory), bounds);
}

Result<OutputStore> OutputStore::open(const std::string& sandbox) {
  return open(TRY(outputs_place()), sandbox, {});
}

Result<> OutputStore::write(const std::string& id, const StoredOutput& output) {
  const bool is_large = output.output.head.size() + output.output.tail.size() +
                            output.error.head.size() + output.error.tail.size() >
                        bounds_.bytes / 2;
  const std::string bytes = is_large ? pack(cut_to(bounds_.bytes / 2, output)) : pack(output);
  const std::string temporary = id + ".new";
  {
    const UniqueFd file = TRY(open_at(directory_.get(), temporary.c_str(),
                                      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
    TRY(write_all(file.get(), bytes));
  }
  if (::renameat(directory_.get(), temporary.c_str(), directory_.get(), id.c_str()) != 0)
    return syscall_failure("rename", id);
  return count_in(bytes.size() + kOverhead);
}

Result<> OutputStore::count_in(std::uint64_t bytes) {
  const UniqueFd file = TRY(lock(directory_.get()));
  Usage usage;
  if (::pread(file.get(), &usage, sizeof usage, 0) != static_cast<ssize_t>(sizeof usage))
    usage = {};
  usage.bytes += bytes;
  ++usage.outputs;
  if (usage.bytes > bounds_.bytes || usage.outputs > bounds_.outputs) usage = TRY(evict_oldest());
  if (::pwrite(file.get(), &usage, sizeof usage, 0) != static_cast<ssize_t>(sizeof usage))
    return syscall_failure("write", "usage");
  return {};
}

// Evicts until three quarters are left, so that evictions are rare. Never evicts the newest output.
Result<OutputStore::Usage> OutputStore::evict_oldest() {
  struct Entry {
    fs::path path;
    std::uint64_t bytes = 0;
    fs::file_time_type time;
  };
  std::vector<Entry> entries;
  Usage usage;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(path_, error)) {
    if (!is_output_id(item.path().filename().native())) continue;
    const std::uint64_t bytes = item.file_size(error) + kOverhead;
    entries.push_back({item.path(), bytes, item.last_write_time(error)});
    usage.bytes += bytes;
    ++usage.outputs;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (const Entry& entry : entries) {
    const bool is_enough =
        usage.bytes <= bounds_.bytes / 4 * 3 && usage.outputs <= bounds_.outputs / 4 * 3;
    if (is_enough || &entry == &entries.back()) break;
    if (!fs::remove(entry.path, error)) continue;
    usage.bytes -= entry.bytes;
    --usage.outputs;
  }
  return usage;
}

Result<std::string> OutputStore::save(const StoredOutput& output) {
  for (std::size_t digits = 4;; digits += 2) {
    std::string id = "o" + random_id(digits);
    if (::faccessat(directory_.get(), id.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0 && digits < 10)
      continue;
    TRY(write(id, output));
    return id;
  }
}

Result<> OutputStore::replace(const std::string& id, const StoredOutput& output) {
  if (!is_output_id(id)) return not_kept(id);
  return write(id, output);
}

Result<StoredOutput> OutputStore::load(const std::string& id) {
  if (!is_output_id(id)) return not_kept(id);
  const auto bytes = read_file_at(directory_.get(), id.c_str(), kMostFile);
  if (!bytes && bytes.error().code == ErrorCode::NotFound) return not_kept(id);
  if (!bytes) return Failure(bytes.error());
  return unpack(*bytes);
}

std::uint64_t OutputStore::size_of(const std::string& id) const {
  struct stat status {};
  if (!is_output_id(id) || ::fstatat(directory_.get(), id.c_str(), &status, 0) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::string> OutputStore::keep(const std::string& command, std::string_view output) {
  StoredOutput stored;
  stored.command = command;
  stored.output.append(output);
  stored.output.trim();
  return save(stored);
}

Result<std::string> OutputStore::shown_before(std::string_view question, std::string_view text,
                                              const std::string& id) {
  const UniqueFd file =
      TRY(open_at(directory_.get(), "shown", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  Shown now{digest(question), digest(text), {}};
  const std::size_t slot = std::hash<std::string_view>()({now.question.data(), 32}) % kShownSlots;
  const auto place = static_cast<off_t>(slot * sizeof(Shown));
  Shown last;
  const bool is_there = ::pread(file.get(), &last, sizeof last, place) == sizeof last;
  const bool is_same = is_there && last.question == now.question && last.text == now.text;
  const std::string last_id(last.id.data(), ::strnlen(last.id.data(), last.id.size()));
  // The answer may refer to an earlier output only while that is stored.
  const bool is_kept = is_same && is_output_id(last_id) &&
                       ::faccessat(directory_.get(), last_id.c_str(), F_OK, 0) == 0;
  if (is_kept) return last_id;
  const std::string new_id = is_same && id.empty() ? TRY(keep(std::string(question), text)) : id;
  new_id.copy(now.id.data(), now.id.size() - 1);
  if (::pwrite(file.get(), &now, sizeof now, place) != static_cast<ssize_t>(sizeof now))
    return syscall_failure("write", "shown");
  return is_same && id.empty() ? new_id : std::string();
}

Result<> remove_outputs(const std::string& sandbox) {
  if (!may_name_sandbox(sandbox)) return {};
  std::error_code error;
  fs::remove_all(TRY(outputs_place()) / sandbox, error);
  if (error) return syscall_failure(error.value(), "remove the outputs of", sandbox);
  return {};
}

void sweep_outputs(const MayLive& may_live, SweepMode mode, SweepReport& report) {
  const auto place = outputs_place();
  if (!place) return;
  std::error_code error;
  std::vector<fs::path> stores;
  for (const auto& item : fs::directory_iterator(*place, error)) {
    if (may_name_sandbox(item.path().filename().native())) stores.push_back(item.path());
  }
  for (const fs::path& path : stores) {
    const std::string id = path.filename().native();
    if (may_live(id)) continue;
    error.clear();
    if (mode == SweepMode::Remove) fs::remove_all(path, error);
    (error ? report.failed : report.removed).push_back(fmt::format("outputs of sandbox {}", id));
  }
}

}  // namespace nutshell
