#include "cli/print.h"

#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace nutshell::cli {

void print_text(std::string_view text) {
  print_bytes(terminal_text(text));
}

void print_json(const nlohmann::ordered_json& value) {
  print_json_text(dump_json(value));
}

void print_json(const nlohmann::json& value) {
  print_json_text(dump_json(value));
}

void print_json_text(std::string_view json) {
  print_bytes(terminal_json(json));
  print_bytes("\n");
}

void print_bytes(std::string_view bytes) {
  fmt::print("{}", bytes);
}

}  // namespace nutshell::cli
