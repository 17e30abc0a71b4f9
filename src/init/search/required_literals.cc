#include "init/search/required_literals.h"

#include <re2/filtered_re2.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "init/search/literal_scanner.h"

namespace nutshell::init::search {
namespace {

constexpr int kLeastAtom = 2;
constexpr std::size_t kMostAtoms = 64;
constexpr std::size_t kMostLiterals = 8;  // each is a pass over the text

// Letters that Unicode folds to an ASCII letter, or the other way: K (Kelvin), ſ, İ. They are
// folded in the atoms, but not in the text.
constexpr std::string_view kFoldedStrangely = "ksi";

// Rates a literal: rarer and longer ones are better.
unsigned weight(std::string_view literal) {
  unsigned sum = 0;
  for (const char byte : literal)
    sum += 110U - std::min(byte_rank(byte), 100U);
  return sum;
}

// Returns the best part of an atom that is in the text byte for byte, except for letter case.
std::string_view plain_part(std::string_view atom) {
  std::string_view best;
  while (!atom.empty()) {
    const auto is_unsafe = [](char byte) {
      return static_cast<signed char>(byte) < 0 || kFoldedStrangely.find(byte) != std::string::npos;
    };
    const auto end = std::find_if(atom.begin(), atom.end(), is_unsafe);
    const std::string_view part = atom.substr(0, static_cast<std::size_t>(end - atom.begin()));
    if (weight(part) > weight(best)) best = part;
    atom.remove_prefix(std::min(part.size() + 1, atom.size()));
  }
  return best;
}

// Patterns of plain ASCII and without flags need no other folding than the above.
bool may_fold_strangely(const std::string& pattern, const RE2::Options& options) {
  if (!options.case_sensitive()) return true;
  if (pattern.find("(?", pattern.starts_with("(?m)") ? 4 : 0) != std::string::npos) return true;
  if (pattern.find("\\x") != std::string::npos || pattern.find("\\p") != std::string::npos ||
      pattern.find("\\P") != std::string::npos) {
    return true;
  }
  return std::any_of(pattern.begin(), pattern.end(),
                     [](char byte) { return static_cast<signed char>(byte) < 0; });
}

bool passes(const re2::FilteredRE2& filter, const std::vector<int>& atoms) {
  std::vector<int> potential;
  filter.AllPotentials(atoms, &potential);
  return !potential.empty();
}

// Returns the atoms that every match contains.
std::vector<std::size_t> indispensable(const re2::FilteredRE2& filter, std::size_t count) {
  std::vector<std::size_t> found;
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<int> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (!passes(filter, others)) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<std::string> required_literals(const std::string& pattern,
                                           const RE2::Options& options) {
  re2::FilteredRE2 filter(kLeastAtom);
  int id = 0;
  if (filter.Add(pattern, options, &id) != RE2::NoError) return {};
  std::vector<std::string> atoms;
  filter.Compile(&atoms);
  if (atoms.empty() || atoms.size() > kMostAtoms || passes(filter, {})) return {};
  if (may_fold_strangely(pattern, options)) {
    for (std::string& atom : atoms)
      atom = std::string(plain_part(atom));
  }
  const auto is_lighter = [](const std::string& a, const std::string& b) {
    return weight(a) < weight(b);
  };
  std::vector<std::string> needed;
  for (const std::size_t i : indispensable(filter, atoms.size()))
    needed.push_back(atoms[i]);
  if (!needed.empty()) atoms = {*std::max_element(needed.begin(), needed.end(), is_lighter)};
  std::sort(atoms.begin(), atoms.end());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  const bool has_empty =
      std::any_of(atoms.begin(), atoms.end(), [](const std::string& atom) { return atom.empty(); });
  if (has_empty || atoms.size() > kMostLiterals) return {};
  return atoms;
}

}  // namespace nutshell::init::search
