// libFuzzer's entry. NUTSHELL_ENTRY_POINT names the function of entry_points.h, or NUTSHELL_PARSER
// the parser for fuzz_parser().
#include <cstddef>
#include <cstdint>

#include "entry_points.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
#ifdef NUTSHELL_PARSER
  (void)nutshell::fuzz::fuzz_parser(NUTSHELL_PARSER, input);  // any answer will do
#else
  nutshell::fuzz::NUTSHELL_ENTRY_POINT(input);
#endif
  return 0;
}
