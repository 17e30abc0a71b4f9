# A system-call filter as a part of `target`: `profile` (a file beside the target's sources) becomes
# an initialiser list that a source file includes by the name `output`.
#   nutshell_seccomp_filter(nutshell_init init/exec/payload.seccomp payload.seccomp.inc)
# The profile that it includes, if there is one, may follow.
function(nutshell_seccomp_filter target profile output)
  if(NOT TARGET seccomp_compiler)
    add_executable(seccomp_compiler EXCLUDE_FROM_ALL
      ${PROJECT_SOURCE_DIR}/cmake/seccomp_compiler.cc)
    target_link_libraries(seccomp_compiler PRIVATE nutshell_base PkgConfig::seccomp)
    set_target_properties(seccomp_compiler PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/generators)
  endif()
  get_filename_component(profile ${profile} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR}/src)
  set(included ${ARGN})
  list(TRANSFORM included PREPEND ${PROJECT_SOURCE_DIR}/src/)
  set(folder ${CMAKE_BINARY_DIR}/generated/${target})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/${output}
    COMMAND seccomp_compiler ${profile} ${folder}/${output}
    DEPENDS seccomp_compiler ${profile} ${included}
    COMMENT "Compiling the system-call filter ${output}"
    VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${output})
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
