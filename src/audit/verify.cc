#include "audit/verify.h"

#include <fmt/format.h>

#include "base/sha256.h"

namespace nutshell::audit {
namespace {

namespace fs = std::filesystem;
using Finding = Verdict::Finding;

class Verification {
 public:
  Verification(std::optional<Mark> head, std::optional<Mark> expected)
      : head_(std::move(head)), expected_(std::move(expected)) {}

  Result<> begin(const fs::path& directory, const std::vector<Segment>& segments);
  // False once something is found.
  Result<bool> take_segment(const Segment& segment);
  Verdict end();

 private:
  Visit take(std::string_view line);
  Visit find(Finding finding, std::uint64_t at, std::string problem);
  Visit find_out_of_place(const Link& link);
  void check_mark(const std::optional<Mark>& mark, std::string_view name);

  std::optional<Mark> head_;
  std::optional<Mark> expected_;
  std::vector<Segment> segments_;
  Verdict verdict_;
};

Result<> Verification::begin(const fs::path& directory, const std::vector<Segment>& segments) {
  segments_ = segments;
  const Mark anchor = TRY(read_mark(directory / kAnchorName)).value_or(Mark{});
  // Segments before the anchor may exist if their removal was interrupted.
  if (segments.empty() || segments.front().first_id > anchor.id) {
    verdict_.last = anchor;
  } else {
    verdict_.last.id = segments.front().first_id - 1;
    verdict_.last.hash.clear();  // accepts any hash in the first record
  }
  verdict_.first_id = verdict_.last.id + 1;
  return {};
}

Visit Verification::find(Finding finding, std::uint64_t at, std::string problem) {
  verdict_.finding = finding;
  verdict_.at = at;
  verdict_.problem = std::move(problem);
  return Visit::Stop;
}

// The id is not the next one: finds out whether the next record is missing or at another place.
Visit Verification::find_out_of_place(const Link& link) {
  const std::uint64_t wanted = verdict_.last.id + 1;
  if (link.id < wanted) {
    return find(Finding::Reordered, link.id,
                fmt::format("record {} stands behind record {}", link.id, wanted - 1));
  }
  const std::string start = fmt::format(R"({{"id":{},)", wanted);
  bool is_elsewhere = false;
  for (const Segment& segment : segments_) {
    const auto rest = for_each_line(segment.path, [&](std::string_view line) -> Result<Visit> {
      is_elsewhere = is_elsewhere || line.starts_with(start);
      return is_elsewhere ? Visit::Stop : Visit::GoOn;
    });
    if (!rest || is_elsewhere) break;
  }
  if (is_elsewhere) {
    return find(Finding::Reordered, wanted,
                fmt::format("record {} stands behind record {}", wanted, link.id));
  }
  return find(Finding::Missing, wanted,
              fmt::format("records {} to {} are missing", wanted, link.id - 1));
}

void Verification::check_mark(const std::optional<Mark>& mark, std::string_view name) {
  if (!mark || mark->id != verdict_.last.id || mark->hash == verdict_.last.hash) return;
  find(Finding::Changed, mark->id,
       fmt::format("record {} is not the one that {} names", mark->id, name));
}

Visit Verification::take(std::string_view line) {
  const std::uint64_t wanted = verdict_.last.id + 1;
  const auto link = read_link(line);
  if (!link)
    return find(Finding::Unreadable, wanted, fmt::format("record {} cannot be read", wanted));
  if (sha256_hex(link->hashed) != link->hash)
    return find(Finding::Changed, link->id, fmt::format("record {} was changed", link->id));
  if (link->id != wanted) return find_out_of_place(*link);
  if (!verdict_.last.hash.empty() && link->previous != verdict_.last.hash) {
    return find(
        Finding::Changed, wanted - 1,
        fmt::format("record {} was changed: record {} has another hash of it", wanted - 1, wanted));
  }
  verdict_.last = {link->id, std::string(link->hash)};
  ++verdict_.records;
  check_mark(head_, "the head");
  check_mark(expected_, "the mark that was kept");
  return verdict_.finding == Finding::Intact ? Visit::GoOn : Visit::Stop;
}

Result<bool> Verification::take_segment(const Segment& segment) {
  const std::string rest = TRY(for_each_line(
      segment.path, [this](std::string_view line) -> Result<Visit> { return take(line); }));
  if (verdict_.finding != Finding::Intact) return false;
  verdict_.is_torn = !rest.empty();
  const bool is_last = segment.first_id == segments_.back().first_id;
  const std::uint64_t wanted = verdict_.last.id + 1;
  const std::string start = fmt::format(R"({{"id":{},"prev":")", wanted);
  const bool is_begun = rest.starts_with(start) || start.starts_with(rest);
  if (rest.empty() || (is_last && is_begun)) return true;
  find(Finding::Unreadable, wanted, fmt::format("record {} cannot be read", wanted));
  return false;
}

Verdict Verification::end() {
  if (verdict_.finding != Finding::Intact) return std::move(verdict_);
  if (expected_ && expected_->id + 1 < verdict_.first_id) {
    find(Finding::Missing, expected_->id,
         fmt::format(
             "record {}, whose mark was kept, was removed for want of room: the record begins "
             "with {}",
             expected_->id, verdict_.first_id));
    return std::move(verdict_);
  }
  for (const auto& mark : {head_, expected_}) {
    if (!mark || mark->id <= verdict_.last.id) continue;
    find(Finding::Missing, verdict_.last.id + 1,
         fmt::format("records {} to {} are missing at the end", verdict_.last.id + 1, mark->id));
    return std::move(verdict_);
  }
  if (!head_ && verdict_.records > 0) {
    find(Finding::Missing, verdict_.last.id + 1,
         "the head is missing: whether records are missing at the end cannot be told");
  }
  return std::move(verdict_);
}

}  // namespace

Result<Verdict> verify(const fs::path& directory, const std::optional<Mark>& expected) {
  // Reads the head first, because records may be appended meanwhile.
  Verification verification(TRY(read_mark(directory / kHeadName)), expected);
  const std::vector<Segment> segments = TRY(list_segments(directory));
  TRY(verification.begin(directory, segments));
  for (const Segment& segment : segments) {
    if (!TRY(verification.take_segment(segment))) break;
  }
  return verification.end();
}

}  // namespace nutshell::audit
