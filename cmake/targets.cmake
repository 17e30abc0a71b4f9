# Headers of libraries that most sources include. They change only with the system, so that a precompiled
# copy stays valid; none of our headers is among them, because an edit would build everything again.
set(usual_headers <algorithm> <array> <chrono> <cstdint> <filesystem> <functional> <map> <memory>
  <optional> <string> <string_view> <thread> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)
function(nutshell_precompile target)
  if(NOT NUTSHELL_PRECOMPILED)
    return()
  endif()
  # g++ 12 forgets that a precompiled header is the system's and warns about std::string as if it were
  # ours. CI builds without this option, and there a warning is an error.
  target_compile_options(${target} PRIVATE -Wno-error)
  if(target STREQUAL nutshell_base)
    target_precompile_headers(${target} PRIVATE ${usual_headers})
  else()
    target_precompile_headers(${target} REUSE_FROM nutshell_base)
  endif()
endfunction()

# A folder of src/ is a library: its sources, and beside them its tests.
#   nutshell_library(wire USES base core)
# DEEP includes its subfolders.
function(nutshell_library name)
  cmake_parse_arguments(ARG "DEEP" "FOLDER" "USES;LINKS;WITHOUT" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/src/${ARG_FOLDER})
  set(glob GLOB)
  if(ARG_DEEP)
    set(glob GLOB_RECURSE)
  endif()
  file(${glob} sources CONFIGURE_DEPENDS ${folder}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  foreach(file IN LISTS ARG_WITHOUT)
    list(REMOVE_ITEM sources ${folder}/${file})
  endforeach()
  add_library(nutshell_${name} STATIC ${sources})
  target_include_directories(nutshell_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(nutshell_${name} PUBLIC nutshell_${used})
  endforeach()
  target_link_libraries(nutshell_${name} PUBLIC tl::expected ${ARG_LINKS})
  nutshell_precompile(nutshell_${name})
  if(NUTSHELL_TESTS AND tests)
    nutshell_test(${name}_test SOURCES ${tests} USES ${name})
  endif()
endfunction()

# A GoogleTest program, run by CTest as one test per TEST().
function(nutshell_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;USES;LINKS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(${name} PRIVATE nutshell_${used})
  endforeach()
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main ${ARG_LINKS})
  nutshell_precompile(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS ${name})
  set_property(GLOBAL APPEND PROPERTY NUTSHELL_UNIT_TESTS ${name})
endfunction()

# A program in build/bin. Static programs start faster and need nothing from the machine.
function(nutshell_program name)
  cmake_parse_arguments(ARG "DYNAMIC" "" "SOURCES;USES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(${name} PRIVATE nutshell_${used})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  if(NUTSHELL_STATIC AND NOT ARG_DYNAMIC)
    target_link_options(${name} PRIVATE -static -Wl,--gc-sections)
    set_target_properties(${name} PROPERTIES NUTSHELL_IS_STATIC ON)
  endif()
  # The debug information is beside it. The last step writes the program in one piece: the page
  # cache then keeps it in large folios, which saves a tenth of the time of a one-shot run.
  if(NUTSHELL_STATIC)
    set(file $<TARGET_FILE:${name}>)
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug ${file} ${file}.debug
      COMMAND ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=${file}.debug ${file} ${file}.stripped
      COMMAND cp ${file}.stripped ${file}.whole
      COMMAND mv -f ${file}.whole ${file}
      COMMAND rm ${file}.stripped
      VERBATIM)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()
