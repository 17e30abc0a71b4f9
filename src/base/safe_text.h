// Makes text that a sandbox, a client or a file may have chosen safe to show: to a person at a
// terminal, and to a model. Unsafe characters become visible escapes, so nothing is dropped.
#pragma once

#include <string>
#include <string_view>

namespace nutshell {

// Whether a character shows nothing, or changes the order in which others are shown.
bool is_hidden_character(char32_t character);

// For one line on a terminal. Escapes every byte that is not part of UTF-8, control characters (C0
// with newline and tab, DEL, C1), characters that reorder text, and invisible ones.
std::string terminal_line(std::string_view text);

// For many lines on a terminal: like terminal_line(), but newlines and tabs stay.
std::string terminal_text(std::string_view text);

// For a model: escapes invisible and reordering characters, which can carry instructions that no
// person sees. Control characters stay, because files and output have them for good reasons; bytes
// that are not part of UTF-8 are escaped.
std::string model_text(std::string_view text);

// For JSON on its way to a terminal or to a program: the same value, with unsafe characters as
// JSON's own \u escapes. Newlines and tabs between its members stay.
std::string terminal_json(std::string_view json);

// For JSON whose strings a model reads: every string in it becomes model_text() of itself.
std::string model_json(std::string_view json);

}  // namespace nutshell
