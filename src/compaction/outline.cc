#include "compaction/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compaction/body_line.h"
#include "compaction/compactor.h"
#include "compaction/diagnostic_table.h"
#include "compaction/fact_blocks.h"
#include "compaction/field_tables.h"
#include "compaction/formatter.h"
#include "compaction/like_blocks.h"
#include "compaction/like_lines.h"
#include "compaction/line_novelty.h"
#include "compaction/line_outliers.h"
#include "compaction/line_roles.h"
#include "compaction/line_shapes.h"
#include "compaction/passing_paragraphs.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kDropPassingFrom = 3;
constexpr std::size_t kMostPerGroup = 5000;  // like lines folded at once
constexpr std::size_t kNumberTokens = 3;     // "123: " where lines are missing
constexpr std::size_t kNone = LineRoles::kNone;

// The order in which pieces are chosen if not all fit.
enum class Rank : std::uint8_t {
  Total,
  Error,
  Finding,
  Outlier,
  Body,
  Minor,
  Detail,
  Fold,
  Other,
  Known,  // holds no word that did not stand in a line before
};
constexpr std::size_t kRanked = 8;  // ranks that are chosen in order; the others by start and end

// A text that is shown or left out as a whole.
struct Piece {
  std::size_t line = 0;  // where it begins, counted from 0
  std::string text;      // with its newlines
  Rank rank = Rank::Other;
  std::size_t lines = 1;  // of the output that it stands for
  std::size_t tokens = 0;
  bool is_diagnostic = false;
  bool is_chosen = false;
};

// Whether the whole outline is expected to fit the budget.
enum class Fit : std::uint8_t { Whole, Tight };

class OutlineMaker {
 public:
  OutlineMaker(const OutlineInput& input, const LineRoles& found, Fit fit)
      : input_(input), found_(found), gone_(input.lines.size()), is_tight_(fit == Fit::Tight) {}

  Outline make() {
    drop_passing();
    drop_sources_and_frames();
    fold_equal();
    if (!holds_changes()) {
      fold_paragraphs();
      fold_plain();
      fold_plain();  // headings below which nothing is left
    }
    collect();
    choose();
    return write();
  }

 private:
  using Group = std::vector<std::size_t>;

  [[nodiscard]] Role role(std::size_t at) const { return found_.roles[at]; }
  [[nodiscard]] std::size_t size() const { return input_.lines.size(); }

  void omit(std::string_view what, std::uint64_t lines = 1) {
    for (Omission& omission : outline_.omitted) {
      if (omission.what != what) continue;
      omission.lines += lines;
      return;
    }
    outline_.omitted.push_back({std::string(what), lines});
  }

  // Whether a line has lines below it that are still shown. A paragraph of like lines belongs to
  // its first line and is not below it.
  [[nodiscard]] std::vector<bool> find_parents() {
    std::vector<bool> has_below(size());
    for (std::size_t at = 0; at < size(); ++at) {
      const std::size_t above = found_.above[at];
      if (above == kNone || gone_[at] || role(at) == Role::Blank) continue;
      const bool is_beside = indent_of(input_.lines[above]) == indent_of(input_.lines[at]);
      has_below[above] = has_below[above] || !is_beside || likeness(above) != likeness(at);
    }
    return has_below;
  }

  void drop_passing() {
    for (const LineBlock& one : passing_paragraphs(input_.lines, found_.roles)) {
      std::fill_n(gone_.begin() + static_cast<std::ptrdiff_t>(one.first), one.lines, true);
      omit("lines of passed checks", one.lines);
    }
    const auto has_below = find_parents();
    std::vector<std::size_t> passing;
    for (std::size_t at = 0; at < size(); ++at) {
      // a paragraph of passing lines belongs to its first, which has no text of its own below it
      const bool is_open = has_below[at] && !is_parent_of_passing(at);
      if (role(at) == Role::Passing && !is_open && !gone_[at]) passing.push_back(at);
    }
    if (passing.size() < kDropPassingFrom) return;
    for (const std::size_t at : passing)
      gone_[at] = true;
    omit("passing lines", passing.size());
  }

  [[nodiscard]] bool is_parent_of_passing(std::size_t at) const {
    return at + 1 < size() && indent_of(input_.lines[at + 1]) <= indent_of(input_.lines[at]);
  }

  void drop_sources_and_frames() {
    for (std::size_t at = 0; at < size(); ++at) {
      if (role(at) == Role::Excerpt) {
        gone_[at] = true;
        omit("lines of source");
      }
      if (role(at) != Role::Frame) continue;
      const bool is_first = at == 0 || (role(at - 1) != Role::Frame && !is_frame(at - 1));
      const bool is_alone = is_first && !is_frame(next_other(at));
      if (is_alone) continue;
      gone_[at] = true;
      omit("frames of libraries");
    }
  }

  [[nodiscard]] std::size_t next_other(std::size_t at) const {
    while (at < size() && role(at) == Role::Frame)
      ++at;
    return at;
  }

  [[nodiscard]] bool is_frame(std::size_t at) const {
    if (at >= size()) return false;
    const auto text = trim_left(input_.lines[at]);
    return text.starts_with("at ") || text.starts_with("from ") || text.starts_with("# ");
  }

  // In a diff, lines that are alike are not the same.
  [[nodiscard]] bool holds_changes() const {
    return std::any_of(input_.lines.begin(), input_.lines.end(), [](std::string_view line) {
      return line.starts_with("@@ ") || line.starts_with("diff --git ");
    });
  }

  // Errors and warnings that are the same word for word, without lines of their own, appear once,
  // unless they stand below different lines, which say what they are about.
  void fold_equal() {
    std::map<std::pair<std::size_t, std::string_view>, std::size_t> known;  // by scope and text
    for (std::size_t at = 0; at < size(); ++at) {
      const bool is_alone = at + 1 >= size() || role(at + 1) != Role::Body;
      if ((role(at) != Role::Error && role(at) != Role::Warning) || !is_alone) continue;
      if (is_below_its_subject(at)) continue;
      const auto line = input_.lines[at];
      const auto [entry, is_new] = known.emplace(std::pair(found_.above[at], line), at);
      if (is_new) continue;
      auto& folded = folds_[entry->second];
      folded.lines = std::max<std::size_t>(folded.lines, 1) + 1;
      folded.text = fmt::format("{} (×{})", shortened(as_data(line)), folded.lines);
      gone_[at] = true;
      ++outline_.folded;
    }
  }

  // Whether the line before a line, at the same indent, may say what it is about.
  [[nodiscard]] bool is_below_its_subject(std::size_t at) const {
    std::size_t before = at;
    while (before > 0 && (role(before - 1) == Role::Blank || role(before - 1) == Role::Excerpt))
      --before;
    if (before == 0) return false;
    const Role role_before = role(before - 1);
    return role_before != Role::Error && role_before != Role::Warning &&
           role_before != Role::Passing && found_.above[at] != before - 1;
  }

  // Folds paragraphs that say the same about different things, such as threads with equal stacks.
  void fold_paragraphs() {
    std::vector<LineBlock> blocks;
    for (std::size_t at = 0; at < end_of_folds();) {
      std::size_t end = at;
      bool is_plain = true;
      std::size_t shown = 0;
      for (; end < size() && role(end) != Role::Blank; ++end) {
        if (gone_[end]) continue;
        is_plain =
            is_plain && role(end) == Role::Plain && !folds_.contains(end) && shown == end - at;
        ++shown;
      }
      constexpr std::size_t kFewestLines = 2;
      const bool is_own = found_.above[at] == kNone;  // not part of what stands above it
      if (is_plain && is_own && shown >= kFewestLines && end <= end_of_folds())
        blocks.push_back({at, shown});
      at = end + 1;
    }
    for (const FieldTable& table : find_field_tables(input_.lines, blocks))
      apply(table, blocks);
    std::erase_if(blocks, [this](const LineBlock& one) { return folds_.contains(one.first); });
    for (const BlockFold& fold :
         fold_blocks(input_.lines, blocks, is_tight_ ? Listing::WhileCheap : Listing::All))
      apply(fold, blocks);
  }

  // Each paragraph becomes a row; the first one has the keys above it.
  void apply(const FieldTable& table, const std::vector<LineBlock>& blocks) {
    for (std::size_t at = 0; at < table.rows.size(); ++at) {
      const LineBlock& one = blocks[table.first + at];
      std::fill_n(gone_.begin() + static_cast<std::ptrdiff_t>(one.first), one.lines, true);
      gone_[one.first] = false;
      folds_[one.first] = {(at == 0 ? table.head : "") + table.rows[at], one.lines};
    }
  }

  void apply(const BlockFold& fold, const std::vector<LineBlock>& blocks) {
    const LineBlock& first = blocks[fold.members.front()];
    for (const std::size_t member : fold.members) {
      for (std::size_t line = 0; line < blocks[member].lines; ++line)
        gone_[blocks[member].first + line] = true;
    }
    for (std::size_t line = 0; line < first.lines; ++line) {
      const std::size_t at = first.first + line;
      gone_[at] = false;
      const auto note = line == 0 ? fold.note : "";
      folds_[at] = {shortened(as_data(without_bar(input_.lines[at]))) + note,
                    line == 0 ? (fold.members.size() - 1) * first.lines + 1 : 1};
    }
    outline_.folded += (fold.members.size() - 1) * first.lines;
    omit("like lines", (fold.members.size() - 1) * first.lines);
  }

  // Folds like lines that belong to the same line above.
  void fold_plain() {
    const auto has_below = find_parents();
    std::unordered_map<std::uint64_t, std::size_t> known;  // by scope and likeness
    std::vector<Group> groups;
    for (std::size_t at = 0; at < end_of_folds(); ++at) {
      if (role(at) != Role::Plain || gone_[at] || has_below[at] || folds_.contains(at) ||
          is_table_row(input_.lines[at]))
        continue;
      const auto key = likeness(at) ^ ((scope_of(at) + 2) * 0x9e3779b97f4a7c15ULL);
      const auto [entry, is_new] = known.emplace(key, groups.size());
      if (is_new) groups.emplace_back();
      if (groups[entry->second].size() == kMostPerGroup) {
        entry->second = groups.size();
        groups.emplace_back();
      }
      groups[entry->second].push_back(at);
    }
    for (const Group& group : groups) {
      if (!takes_turns(group)) fold_group(group);
    }
  }

  // Whether a line of one other form stands beside each: folded, one could not tell whose it is.
  bool takes_turns(const Group& group) {
    if (is_progress(input_.lines[group.front()])) return false;
    std::unordered_map<std::uint64_t, std::size_t> before;
    std::unordered_map<std::uint64_t, std::size_t> behind;
    const std::unordered_set<std::size_t> members(group.begin(), group.end());
    for (const std::size_t member : group) {
      std::size_t next = member + 1;
      while (next < size() && (gone_[next] || role(next) == Role::Blank))
        ++next;
      if (next < size() && !members.contains(next)) ++behind[likeness(next)];
      std::size_t last = member;
      while (last > 0 && (gone_[last - 1] || role(last - 1) == Role::Blank))
        --last;
      if (last > 0 && !members.contains(last - 1)) ++before[likeness(last - 1)];
    }
    const auto is_usual = [&](const auto& one) {
      return one.second > 2 && one.second * 10 >= group.size() * 6;
    };
    return std::any_of(before.begin(), before.end(), is_usual) ||
           std::any_of(behind.begin(), behind.end(), is_usual);
  }

  // The line above, unless that is only the first of like lines.
  [[nodiscard]] std::size_t scope_of(std::size_t at) {
    const std::size_t above = found_.above[at];
    if (above == kNone || indent_of(input_.lines[above]) < indent_of(input_.lines[at]))
      return above;
    return likeness(above) == likeness(at) ? found_.above[above] : above;
  }

  std::uint64_t likeness(std::size_t at) {
    if (likeness_.empty()) likeness_.resize(size());
    auto& known = likeness_[at];
    if (known == 0) known = likeness_of(input_.lines[at]);
    return known;
  }

  // The last lines stay as they are, because they say how it ended.
  [[nodiscard]] std::size_t end_of_folds() const {
    constexpr std::size_t kLastLines = 3;
    std::size_t end = size();
    for (std::size_t left = kLastLines; end > 0 && left > 0; --end)
      left -= role(end - 1) == Role::Blank ? 0 : 1;
    return end;
  }

  void fold_group(const Group& group) {
    std::vector<std::string_view> lines;
    lines.reserve(group.size());
    for (const std::size_t at : group)
      lines.push_back(input_.lines[at]);
    const bool is_cheap = is_tight_ || is_progress(lines.front());
    const auto made = fold_like(lines, is_cheap ? Listing::WhileCheap : Listing::All);
    if (made.members.empty()) return;
    for (const std::size_t member : made.members)
      gone_[group[member]] = true;
    const std::size_t first = group[made.members.front()];
    gone_[first] = false;
    folds_[first] = {made.text, made.members.size()};
    outline_.folded += made.members.size() - 1;
    if (made.unlisted > 0) omit("like lines", made.unlisted);
  }

  // --- what is shown ---------------------------------------------------------------------------

  void collect() {
    collect_diagnostics();
    for (std::size_t at = 0; at < size(); ++at) {
      if (gone_[at] || role(at) == Role::Blank || role(at) == Role::Diagnostic) continue;
      const auto folded = folds_.find(at);
      const bool is_fold = folded != folds_.end();
      const auto line = without_bar(input_.lines[at]);
      if (!is_fold && line.size() > kLongestLine) omit("ends of long lines");
      auto text = is_fold ? folded->second.text : shortened(as_data(line));
      const Rank rank = is_fold && role(at) == Role::Plain ? Rank::Fold : rank_of(role(at));
      add({at, text + "\n", rank, is_fold ? folded->second.lines : 1});
      outline_.has_error |= role(at) == Role::Error;
    }
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.line < b.line; });
  }

  void collect_diagnostics() {
    if (found_.diagnostics.empty()) return;
    std::size_t first = size();
    for (const std::size_t line : found_.diagnostic_lines)
      first = std::min(first, line);
    const auto distinct = distinct_diagnostics(found_.diagnostics);
    if (const std::size_t again = found_.diagnostics.size() - distinct.size(); again > 0)
      omit("repeated diagnostics", again);
    std::size_t minor = 0;
    for (const Diagnostic& diagnostic : distinct) {
      minor += diagnostic.severity == Severity::Warning || diagnostic.severity == Severity::Note;
    }
    const std::size_t room = is_tight_ ? input_.max_tokens / 2 : input_.max_tokens;
    const auto [blocks, details, is_table] = blocks_within(distinct, room);
    if (details > 0) omit("lines of detail", details);
    std::size_t left = distinct.size();
    for (const FactBlock& block : blocks) {
      const Rank rank = left > minor ? Rank::Finding : Rank::Minor;
      left -= std::min(left, block.facts);
      add({first, block.head, rank, block.facts, 0, true});
      if (!block.detail.empty()) add({first, block.detail, Rank::Detail, 1});
    }
    outline_.diagnostics = distinct.size();
    outline_.has_error |= outline_.diagnostics > minor;
  }

  static Rank rank_of(Role role) {
    switch (role) {
      case Role::Summary:
        return Rank::Total;
      case Role::Error:
      case Role::Heading:
        return Rank::Error;
      case Role::Body:
      case Role::Frame:
        return Rank::Body;
      case Role::Warning:
        return Rank::Minor;
      default:
        return Rank::Other;
    }
  }

  void add(Piece piece) {
    piece.tokens = estimate_tokens(piece.text);
    all_tokens_ += piece.tokens;
    pieces_.push_back(std::move(piece));
  }

  void choose() {
    left_ = input_.max_tokens;
    if (all_tokens_ <= left_) {
      for (Piece& piece : pieces_)
        piece.is_chosen = true;
      return;
    }
    outline_.is_cut = true;
    rank_outliers();
    rank_known();
    constexpr std::array<double, kRanked> kShares = {0.15, 0.75, 0.8, 0.5, 0.7, 0.7, 0.5, 0.5};
    for (std::size_t rank = 0; rank < kRanked; ++rank)
      choose_rank(static_cast<Rank>(rank), kShares.at(rank));
    choose_ends(Rank::Other);
    for (std::size_t rank = 0; rank < kRanked; ++rank)  // the room that others did not need
      choose_rank(static_cast<Rank>(rank), 1.0);
    choose_ends(Rank::Known);
  }

  // Lines that differ from the many like them are shown before those, each with the line above it.
  void rank_outliers() {
    std::vector<bool> is_asked(size(), false);
    for (const Piece& piece : pieces_)
      is_asked[piece.line] = piece.rank == Rank::Other && piece.lines == 1;
    auto is_outlier = find_outliers(input_.lines, is_asked);
    for (std::size_t at = size(); at-- > 0;) {
      const std::size_t above = found_.above[at];
      const bool is_below =
          above != kNone && indent_of(input_.lines[above]) < indent_of(input_.lines[at]);
      if (is_outlier[at] && is_below) is_outlier[above] = true;
    }
    for (Piece& piece : pieces_) {
      if (piece.rank == Rank::Other && is_outlier[piece.line]) piece.rank = Rank::Outlier;
    }
  }

  // Lines that repeat what stood before make room for those that hold something new.
  void rank_known() {
    auto is_new = find_novel(input_.lines);
    for (std::size_t at = size(); at-- > 0;) {
      if (is_new[at] && found_.above[at] != kNone) is_new[found_.above[at]] = true;
    }
    for (Piece& piece : pieces_) {
      if (is_new[piece.line] || piece.is_diagnostic) continue;
      if (piece.rank == Rank::Other) piece.rank = Rank::Known;
      if (piece.rank == Rank::Body) piece.rank = Rank::Detail;
    }
  }

  void choose_rank(Rank rank, double share) {
    auto room = static_cast<std::size_t>(static_cast<double>(left_) * share);
    bool is_full = false;  // a file's name stands above its first diagnostic: none may be skipped
    const Piece* before = nullptr;
    for (Piece& piece : pieces_) {
      const bool is_detail = piece.is_diagnostic && piece.rank == Rank::Detail;
      const bool is_told = !is_detail || (before != nullptr && before->is_chosen);
      before = is_detail ? before : &piece;
      if (piece.rank == rank && !piece.is_chosen && is_told && !(is_full && piece.is_diagnostic))
        take(piece, room);
      is_full = is_full || (piece.is_diagnostic && !is_detail && !piece.is_chosen);
    }
  }

  // The end and the start of what has this rank, in turns.
  void choose_ends(Rank rank) {
    std::size_t room = left_ * 6 / 10;
    for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
      if (!piece->is_chosen && piece->rank == rank && !take(*piece, room)) break;
    }
    room = left_;
    for (Piece& piece : pieces_) {
      if (!piece.is_chosen && piece.rank == rank && !take(piece, room)) break;
    }
  }

  bool take(Piece& piece, std::size_t& room) {
    const std::size_t tokens = piece.tokens + (piece.is_diagnostic ? 0 : kNumberTokens);
    if (tokens > room) return false;
    room -= tokens;
    left_ -= std::min(left_, tokens);
    piece.is_chosen = true;
    return true;
  }

  Outline write() {
    std::size_t expected = 0;
    for (const Piece& piece : pieces_) {
      if (!piece.is_chosen) {
        leave_out(piece);
        continue;
      }
      const bool is_gap = outline_.is_cut && piece.line > expected && !piece.is_diagnostic;
      if (is_gap) outline_.text += fmt::format("{}: ", input_.first_line + piece.line + 1);
      outline_.text += piece.text;
      expected = next_shown_after(piece.line);
    }
    return std::move(outline_);
  }

  [[nodiscard]] std::size_t next_shown_after(std::size_t at) const {
    for (++at; at < size() && role(at) == Role::Blank;)
      ++at;
    return at;
  }

  void leave_out(const Piece& piece) {
    const bool is_error = piece.rank == Rank::Error && role(piece.line) == Role::Error;
    if (piece.is_diagnostic)
      omit("diagnostics", piece.lines);
    else if (is_error)
      omit("lines that look like errors", piece.lines);
    else
      omit(piece.rank == Rank::Detail ? "details" : "other lines", piece.lines);
    const bool is_first = outline_.next == 0 || (is_error && !missed_error_);
    if (is_first) outline_.next = input_.first_line + piece.line + 1;
    missed_error_ |= is_error;
  }

  struct Folded {
    std::string text;
    std::size_t lines = 0;
  };

  const OutlineInput& input_;
  const LineRoles& found_;
  std::vector<bool> gone_;
  std::vector<std::uint64_t> likeness_;  // 0: not asked for yet
  bool is_tight_;
  std::unordered_map<std::size_t, Folded> folds_;  // by the first of their lines
  std::vector<Piece> pieces_;
  std::size_t all_tokens_ = 0;
  std::size_t left_ = 0;
  bool missed_error_ = false;
  Outline outline_;
};

Outline make_from(const OutlineInput& input) {
  const auto found = find_roles(input.lines);
  constexpr std::size_t kFarOver = 64;  // bytes for each token: no fold makes it fit
  std::size_t bytes = 0;
  for (const auto line : input.lines)
    bytes += line.size();
  if (bytes / kFarOver > input.max_tokens) return OutlineMaker(input, found, Fit::Tight).make();
  auto outline = OutlineMaker(input, found, Fit::Whole).make();
  return outline.is_cut ? OutlineMaker(input, found, Fit::Tight).make() : outline;
}

}  // namespace

Outline make_outline(const OutlineInput& input) {
  const auto prefix = shared_prefix(input.lines);
  if (prefix.empty()) return make_from(input);
  std::vector<std::string_view> bare;
  bare.reserve(input.lines.size());
  for (auto line : input.lines) {
    if (take_prefix(line, prefix)) (void)take_prefix(line, " ");
    bare.push_back(line);
  }
  auto inner = input;
  inner.lines = bare;
  auto outline = make_from(inner);
  outline.text = fmt::format("{} is in front of each line:\n{}", prefix, outline.text);
  return outline;
}

Draft render_outline(const Captured& captured, const OutlineInput& input, std::size_t raw_tokens) {
  constexpr std::size_t kFrameTokens = 80;  // the status and the last line
  auto inner = input;
  inner.max_tokens -= std::min(inner.max_tokens, kFrameTokens);
  auto outline = make_outline(inner);
  const auto& id = captured.recall_id;
  if (outline.is_cut) {
    const auto summary =
        fmt::format("{} lines, {} tokens; shown: errors, totals, the start, the end",
                    input.lines.size(), raw_tokens);
    return {status_line(captured, summary) + "\n" + outline.text +
                omission_line(outline.omitted, recall_call(id, outline.next)),
            "outline", std::move(outline.omitted)};
  }
  auto status = status_line(captured, "");
  if (!id.empty()) status += omission_note(outline.omitted);
  const auto last = id.empty() ? omission_line(outline.omitted, recall_call(id)) : "";
  return {status + "\n" + outline.text + last, "outline", std::move(outline.omitted)};
}

}  // namespace nutshell::compaction
