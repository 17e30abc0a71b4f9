# Debian packages only (scripts/deps installs them); nothing is vendored or downloaded.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)  # headers alone: base/fmt_library.cc is its code
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers alone
find_package(OpenSSL 3 REQUIRED)

# A library that programs of ours contain, so that they need only glibc from the machine: its archives there,
# the shared libraries in tests and sanitizers. The archives may need each other.
#   nutshell_archives(sqlite SHARED PkgConfig::sqlite ARCHIVES sqlite3)
function(nutshell_archives name)
  cmake_parse_arguments(ARG "" "" "SHARED;ARCHIVES" ${ARGN})
  add_library(${name} INTERFACE)
  set(archives)
  if(NUTSHELL_STATIC)
    foreach(archive IN LISTS ARG_ARCHIVES)
      string(MAKE_C_IDENTIFIER ${archive}_ARCHIVE variable)
      find_library(${variable} lib${archive}.a REQUIRED)
      list(APPEND archives ${${variable}})
    endforeach()
    list(JOIN archives "," archives)
    target_link_libraries(${name} INTERFACE
      "$<$<BOOL:$<TARGET_PROPERTY:NUTSHELL_HAS_LIBRARIES>>:$<LINK_GROUP:RESCAN,${archives}>>")
  endif()
  foreach(library IN LISTS ARG_SHARED)
    target_link_libraries(${name} INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:NUTSHELL_HAS_LIBRARIES>>>:${library}>)
  endforeach()
endfunction()

pkg_check_modules(cares REQUIRED IMPORTED_TARGET libcares)
nutshell_archives(cares SHARED PkgConfig::cares ARCHIVES cares)
nutshell_archives(openssl SHARED OpenSSL::SSL OpenSSL::Crypto ARCHIVES ssl crypto)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
# The archive, because pkg-config names the shared library, which a static program cannot link.
find_library(RE2_ARCHIVE libre2.a REQUIRED)
find_package(Threads REQUIRED)
add_library(re2_archive INTERFACE)
target_link_libraries(re2_archive INTERFACE ${RE2_ARCHIVE} Threads::Threads)
if(NUTSHELL_DAEMON)
  pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive)
  nutshell_archives(archive_reader SHARED PkgConfig::libarchive ARCHIVES archive acl z bz2 lzma zstd lz4)
  pkg_check_modules(libyaml REQUIRED IMPORTED_TARGET yaml-0.1)
  nutshell_archives(yaml SHARED PkgConfig::libyaml ARCHIVES yaml)
  pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
  nutshell_archives(sqlite SHARED PkgConfig::sqlite ARCHIVES sqlite3)
endif()
if(NUTSHELL_DAEMON AND NUTSHELL_GRPC)
  pkg_check_modules(protobuf REQUIRED IMPORTED_TARGET protobuf)
  nutshell_archives(protobuf SHARED PkgConfig::protobuf ARCHIVES protobuf)
  # Named one by one: its .pc file also lists all their dependencies, for static programs.
  find_library(GRPCPP grpc++ REQUIRED)
  find_library(GRPC grpc REQUIRED)
  find_library(GRPCPP_REFLECTION grpc++_reflection REQUIRED)
  find_library(GPR gpr REQUIRED)
  find_library(ABSL_SYNCHRONIZATION absl_synchronization REQUIRED)  # used by its headers
  get_filename_component(library_directory ${ABSL_SYNCHRONIZATION} DIRECTORY)
  file(GLOB absl RELATIVE ${library_directory} ${library_directory}/libabsl_*.a)
  list(TRANSFORM absl REPLACE "^lib(.*)\\.a$" "\\1")
  nutshell_archives(grpc SHARED ${GRPCPP_REFLECTION} ${GRPCPP} ${GRPC} ${GPR} ${ABSL_SYNCHRONIZATION}
    ARCHIVES grpc++_reflection grpc++ grpc gpr address_sorting upb re2 cares z ssl crypto protobuf ${absl})
  find_program(PROTOC protoc REQUIRED)
endif()
if(NUTSHELL_TESTS)
  find_package(GTest REQUIRED)
endif()
