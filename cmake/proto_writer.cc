// Writes a proto from its template: proto_writer TEMPLATE OUTPUT. The fields of nouns come from
// their field lists (src/core/field.h).
#include <cstdio>

#include "base/file.h"
#include "core/noun_catalogue.h"

int main(int count, char** words) {
  if (count != 3) return 2;
  const auto text = nutshell::read_file(words[1]);
  const auto filled = text ? nutshell::fill_proto(*text) : text;
  if (!filled || !nutshell::write_file(words[2], *filled, 0644)) {
    std::fprintf(stderr, "proto_writer: %s: %s\n", words[1],
                 filled ? "cannot be written" : filled.error().message.c_str());
    return 1;
  }
  return 0;
}
