# One set of warnings for all of our code; the packages' headers come in as system headers.
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Werror
  -Wno-pedantic)  # TRY is a statement expression
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wno-gnu-statement-expression)
endif()
add_compile_options($<$<CONFIG:RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
add_compile_options(-fstack-protector-strong -fcf-protection)
