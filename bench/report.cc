#include "bench/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace nutshell::bench {
namespace {

std::string show_bar(const Row& row) {
  if (!row.bar) return "-";
  const char* sign = row.bar->kind == Bar::Kind::AtMost ? "<=" : ">=";
  return fmt::format("{} {:g}{}", sign, row.bar->value, row.rival ? "x" : "");
}

std::string show_ratio(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "-";
}

const char* verdict(const Row& row) {
  if (!row.bar) return "-";
  return misses_bar(row) ? "MISSED" : "met";
}

void print_series(const Series& series) {
  const Statistics found = summarize(series);
  fmt::print("  {:<38} {:>9.0f} {:>9.0f} {:>9.0f} {:>6}", series.name, found.min, found.p50,
             found.p95, found.count);
}

nlohmann::json to_json(const Series& series) {
  const Statistics found = summarize(series);
  return {{"name", series.name}, {"samples", found.count}, {"min", found.min},
          {"p50", found.p50},    {"p95", found.p95},       {"max", found.max}};
}

nlohmann::json to_json(const Row& row) {
  nlohmann::json json = {{"path", row.path},
                         {"unit", row.unit},
                         {"user", ::geteuid() == 0 ? "root" : "plain"},
                         {"ours", to_json(row.ours)},
                         {"note", row.note}};
  if (row.rival) {
    json["rival"] = to_json(*row.rival);
    json["ratio_p50"] = *ratio_of_medians(row);
    json["ratio_min"] = *ratio_of_minima(row);
  }
  if (row.bar) {
    json["bar"] = row.bar->value;
    json["bar_is"] = row.bar->kind == Bar::Kind::AtMost ? "at most" : "at least";
    json["is_met"] = !misses_bar(row);
  }
  return json;
}

}  // namespace

std::optional<double> ratio_of_medians(const Row& row) {
  if (!row.rival) return std::nullopt;
  return summarize(row.ours).p50 / summarize(*row.rival).p50;
}

std::optional<double> ratio_of_minima(const Row& row) {
  if (!row.rival) return std::nullopt;
  return summarize(row.ours).min / summarize(*row.rival).min;
}

bool misses_bar(const Row& row) {
  if (!row.bar) return false;
  const double value = ratio_of_medians(row).value_or(summarize(row.ours).p50);
  return row.bar->kind == Bar::Kind::AtMost ? value > row.bar->value : value < row.bar->value;
}

void print_table(const std::vector<Row>& rows, Heading heading) {
  if (heading == Heading::Shown) {
    fmt::print("{:<40} {:>9} {:>9} {:>9} {:>6}  {:>7} {:>7}  {:>8}  {}\n", "", "min", "p50", "p95",
               "n", "p50s", "mins", "bar", "verdict");
  }
  for (const Row& row : rows) {
    fmt::print("{} [{}]\n", row.path, row.unit);
    print_series(row.ours);
    fmt::print("  {:>7} {:>7}  {:>8}  {}\n", show_ratio(ratio_of_medians(row)),
               show_ratio(ratio_of_minima(row)), show_bar(row), verdict(row));
    if (row.rival) print_series(*row.rival);
    if (row.rival) fmt::print("\n");
    if (!row.note.empty()) fmt::print("    {}\n", row.note);
  }
}

void print_json(const std::vector<Row>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows)
    all.push_back(to_json(row));
  fmt::print("{}\n", all.dump(2));
}

}  // namespace nutshell::bench
