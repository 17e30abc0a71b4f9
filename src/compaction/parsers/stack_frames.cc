#include "compaction/parsers/stack_frames.h"

#include <array>
#include <limits>
#include <string>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_java_library(std::string_view method) {
  constexpr std::array<std::string_view, 18> kPackages = {"java.",
                                                          "javax.",
                                                          "jdk.",
                                                          "sun.",
                                                          "com.sun.",
                                                          "org.junit.",
                                                          "junit.",
                                                          "org.gradle.",
                                                          "org.hamcrest.",
                                                          "org.mockito",
                                                          "org.testng.",
                                                          "org.apache.maven.",
                                                          "org.opentest4j.",
                                                          "worker.org.gradle",
                                                          "kotlin.",
                                                          "scala.",
                                                          "groovy.",
                                                          "org.assertj."};
  const auto slash = method.rfind('/');  // "java.base/java.util…", "app//x.Test"
  const auto name = slash == std::string_view::npos ? method : method.substr(slash + 1);
  for (const auto package : kPackages) {
    if (name.starts_with(package)) return true;
  }
  return false;
}

}  // namespace

bool is_users_python_file(std::string_view file) {
  return !contains(file, "/site-packages/") && !contains(file, "/dist-packages/") &&
         !contains(file, "/lib/python") && !file.starts_with("<frozen ");
}

bool is_users_node_file(std::string_view file) {
  return !file.starts_with("node:") && !contains(file, "node_modules/") &&
         !file.starts_with("internal/") && !contains(file, "<anonymous>") && contains(file, ".");
}

std::optional<Frame> node_frame(std::string_view line) {
  auto text = trim(line);
  if (!take_prefix(text, "at ") && !take_prefix(text, "❯ ")) return std::nullopt;
  if (text.ends_with(" {")) text.remove_suffix(2);
  const auto open = text.rfind('(');
  if (open != std::string_view::npos && text.ends_with(')'))
    text = text.substr(open + 1, text.size() - open - 2);
  else if (const auto blank = text.rfind(' '); blank != std::string_view::npos)
    text = text.substr(blank + 1);
  (void)take_prefix(text, "file://");  // there for modules only
  std::string_view digits = text;
  auto located = split_location(digits);
  if (!located && text.starts_with("node:")) {
    located = split_location(text.substr(5));
    if (located) located->where.file.insert(0, "node:");
  }
  if (!located || !located->rest.empty()) return Frame{};
  const bool is_users = is_users_node_file(located->where.file);
  return Frame{std::move(located->where), is_users};
}

std::optional<Frame> java_frame(std::string_view line) {
  auto text = trim(line);
  (void)take_prefix(text, "at ");  // JUnit's own listing goes without
  const auto open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')') || open == 0) return std::nullopt;
  const auto method = text.substr(0, open);
  if (contains(method, " ") || !contains(method, ".")) return std::nullopt;
  auto place = text.substr(open + 1, text.size() - open - 2);
  if (place == "Native Method" || place == "Unknown Source") return Frame{};
  const auto located = split_location(place);
  if (!located || !located->rest.empty()) return std::nullopt;
  return Frame{located->where, !is_java_library(method)};
}

std::optional<Frame> go_frame(std::string_view line) {
  if (!line.starts_with('\t')) return std::nullopt;
  auto text = trim(line);
  const auto blank = text.find(' ');
  const auto located = split_location(text.substr(0, blank));
  if (!located || !located->where.file.ends_with(".go") || !located->rest.empty())
    return std::nullopt;
  const auto& file = located->where.file;
  const bool is_users = !contains(file, "/go/src/") && !contains(file, "/libexec/src/") &&
                        !contains(file, "/pkg/mod/") && !contains(file, "/lib/go-") &&
                        file != "_testmain.go";
  return Frame{located->where, is_users};
}

std::optional<Frame> python_frame(std::string_view line) {
  auto text = trim_left(line);
  if (!take_prefix(text, "File \"")) return std::nullopt;
  const auto file = take_until(text, "\", line ");
  const auto number = file ? take_number(text) : std::nullopt;
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return Frame{{std::string(*file), static_cast<std::uint32_t>(*number), 0},
               is_users_python_file(*file)};
}

}  // namespace nutshell::compaction
