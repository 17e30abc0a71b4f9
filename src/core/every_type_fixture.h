// A noun with a field of every type that field lists know, for the tests of all forms.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/field.h"
#include "core/sandbox_spec.h"

namespace nutshell {

struct EveryType {
  bool truth = false;
  std::uint16_t small = 0;
  std::uint64_t bytes = 0;
  std::int64_t whole = 0;
  std::uint32_t millicpus = 0;
  std::string text;
  std::string json;
  WorkspaceMode word = WorkspaceMode::Auto;
  std::chrono::milliseconds duration{0};
  std::chrono::microseconds fine_duration{0};
  std::chrono::system_clock::time_point moment;
  std::vector<std::string> texts;
  std::vector<std::string> variables;
  std::vector<std::vector<std::string>> commands;
  std::map<std::string, std::string> map;
  std::vector<Requirement> requirements;
  UnsafeMount noun;
  std::vector<UnsafeMount> nouns;
  std::optional<std::uint64_t> maybe_number;
  std::optional<std::chrono::microseconds> maybe_duration;
  int conditional = 0;
  std::string secret;
  std::string internal;
  std::string read_only;

  static constexpr NounInfo kNoun{"EveryType", "For tests."};
  static void describe(auto&& field, auto& every) {
    field({.number = 1, .name = "truth"}, every.truth);
    field({.number = 2, .name = "small", .least = 0, .most = 9, .flag = "small"}, every.small);
    field({.number = 3, .name = "bytes", .format = Format::Bytes, .flag = "bytes"}, every.bytes);
    field({.number = 4, .name = "whole", .least = INT64_MIN}, every.whole);
    field({.number = 5, .name = "cpus", .format = Format::Cores, .flag = "cpus"}, every.millicpus);
    field({.number = 6, .name = "text", .most = 100, .presence = Presence::Required}, every.text);
    field({.number = 7, .name = "json", .format = Format::Json}, every.json);
    field({.number = 8, .name = "word", .flag = "word"}, every.word);
    field({.number = 9, .name = "duration_ms", .flag = "duration"}, every.duration);
    field({.number = 10, .name = "fine_ms"}, every.fine_duration);
    field({.number = 11, .name = "moment_ms"}, every.moment);
    field({.number = 12, .name = "texts", .flag = "texts"}, every.texts);
    field({.number = 13, .name = "variables", .format = Format::Variables}, every.variables);
    field({.number = 14, .name = "commands"}, every.commands);
    field({.number = 15, .name = "map", .flag = "map"}, every.map);
    field({.number = 16, .name = "requirements"}, every.requirements);
    field({.number = 17, .name = "noun"}, every.noun);
    field({.number = 18, .name = "nouns"}, every.nouns);
    field({.number = 19, .name = "maybe_number"}, every.maybe_number);
    field({.number = 20, .name = "maybe_ms"}, every.maybe_duration);
    field({.number = 21, .name = "conditional"}, OnlyIf{every.conditional, every.truth});
    field({.number = 22, .name = "secret", .is_secret = true}, every.secret);
    field({.number = 23, .name = "internal", .set_by = SetBy::Internal}, every.internal);
    field({.number = 24, .name = "read_only", .set_by = SetBy::Nobody}, every.read_only);
  }
};

}  // namespace nutshell
