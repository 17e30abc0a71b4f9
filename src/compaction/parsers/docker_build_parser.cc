#include "compaction/parsers/docker_build_parser.h"

#include <fmt/format.h>

#include <map>

#include "compaction/error_words.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "#5 [2/4] RUN make", "#5 0.123 text", "#5 DONE 0.3s"
struct StepLine {
  std::uint64_t step = 0;
  std::string_view text;
};

std::optional<StepLine> parse_line(std::string_view line) {
  if (!take_prefix(line, "#")) return std::nullopt;
  const auto step = take_number(line);
  if (!step || !line.starts_with(' ')) return std::nullopt;
  return StepLine{*step, trim_left(line)};
}

bool is_transfer(std::string_view text) {
  return text.starts_with("sha256:") || text.starts_with("transferring ") ||
         text.starts_with("extracting ") || text.starts_with("resolve ") ||
         text.starts_with("exporting ");
}

// A line that only BuildKit prints. A debugger numbers its frames in the same way as BuildKit its
// steps.
bool is_of_buildkit(std::string_view text) {
  return text.starts_with("[") || text.starts_with("DONE ") || text == "CACHED" ||
         text.starts_with("ERROR") || text == "CANCELED" || is_transfer(text);
}

bool recognises_docker_build(const ParserInput& input) {
  std::size_t steps = 0;
  std::size_t certain = 0;
  for (const auto line : input.lines) {
    const auto step = parse_line(line);
    steps += step ? 1 : 0;
    certain += step && is_of_buildkit(step->text) ? 1 : 0;
  }
  return steps > 5 && steps * 2 > input.lines.size() && certain > 2;
}

// A result: "writing image sha256:… done", "naming to docker.io/library/app:1"
bool is_product(std::string_view text) {
  return text.starts_with("writing image") || text.starts_with("naming to");
}

struct Step {
  std::string_view title;
  std::string_view end;
  std::vector<std::string_view> printed;
  bool is_failed = false;
};

// A product is named when it begins and again when it is done: the second takes the place of the
// first.
void add_line(Step& step, std::string_view text) {
  const bool is_again =
      is_product(text) && !step.printed.empty() && text.starts_with(step.printed.back());
  if (is_again) {
    step.printed.back() = text;
  } else {
    step.printed.push_back(text);
  }
}

void read_line(Step& step, const StepLine& line, std::uint64_t& transfers) {
  if (line.text.starts_with("DONE") || line.text == "CACHED") {
    step.end = line.text;
  } else if (line.text.starts_with("ERROR") || line.text == "CANCELED") {
    step.end = line.text;
    step.is_failed = true;
  } else if (step.title.empty()) {
    step.title = line.text;
  } else if (is_transfer(line.text) || line.text == "...") {
    ++transfers;
  } else if (line.text != step.title) {
    add_line(step, line.text);
  }
}

std::optional<Facts> parse_docker_build(const ParserInput& input) {
  Facts facts;
  facts.tool = "docker build";
  std::map<std::uint64_t, Step> steps;
  std::uint64_t transfers = 0;
  std::vector<std::string> rest;
  for (const auto line : input.lines) {
    const auto step = parse_line(line);
    if (step) {
      read_line(steps[step->step], *step, transfers);
    } else if (!is_blank(line)) {
      rest.emplace_back(line);
    }
  }
  std::uint64_t quiet = 0;
  for (const auto& [number, step] : steps) {
    facts.kept.push_back(fmt::format("#{} {} {}", number, step.title, step.end));
    for (const auto line : step.printed) {
      const bool is_shown =
          step.is_failed || is_product(line) || look_at(line).kind != LineKind::Plain;
      if (is_shown) facts.kept.push_back(fmt::format("  {}", line));
      quiet += is_shown ? 0 : 1;
    }
  }
  std::move(rest.begin(), rest.end(), std::back_inserter(facts.kept));
  facts.totals = {{"steps", steps.size()}};
  facts.omitted = {{"transfers", transfers}, {"lines of steps that went well", quiet}};
  return facts;
}

}  // namespace

Parser docker_build_parser() {
  return {"docker build", recognises_docker_build, parse_docker_build};
}

}  // namespace nutshell::compaction
