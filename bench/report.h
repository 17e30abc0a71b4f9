// Prints the results of a benchmark, as a table for people or as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace nutshell::bench {

struct Bar {
  enum class Kind { AtMost, AtLeast };
  Kind kind = Kind::AtMost;
  double value = 0;
};

// Ours against a rival. The bar is on the ratio of the medians, or, where there is no rival, on our
// own median.
struct Row {
  std::string path;
  std::string unit = "us";
  Series ours;
  std::optional<Series> rival;
  std::optional<Bar> bar;
  std::string note;
};

std::optional<double> ratio_of_medians(const Row& row);
std::optional<double> ratio_of_minima(const Row& row);
bool misses_bar(const Row& row);

enum class Heading { Shown, Hidden };
void print_table(const std::vector<Row>& rows, Heading heading);
void print_json(const std::vector<Row>& rows);

}  // namespace nutshell::bench
