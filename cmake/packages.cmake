# Debian packages only (scripts/deps installs them); nothing is vendored or downloaded.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)  # headers alone: base/fmt_library.cc is its code
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers alone
find_package(OpenSSL 3 REQUIRED)
# The archives for static programs, the shared libraries for all others.
find_library(SSL_ARCHIVE libssl.a REQUIRED)
find_library(CRYPTO_ARCHIVE libcrypto.a REQUIRED)
add_library(openssl INTERFACE)
target_link_libraries(openssl INTERFACE
  $<IF:$<BOOL:$<TARGET_PROPERTY:NUTSHELL_IS_STATIC>>,${SSL_ARCHIVE},OpenSSL::SSL>
  $<IF:$<BOOL:$<TARGET_PROPERTY:NUTSHELL_IS_STATIC>>,${CRYPTO_ARCHIVE},OpenSSL::Crypto>)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
# The archive, because pkg-config names the shared library, which a static program cannot link.
find_library(RE2_ARCHIVE libre2.a REQUIRED)
find_package(Threads REQUIRED)
add_library(re2_archive INTERFACE)
target_link_libraries(re2_archive INTERFACE ${RE2_ARCHIVE} Threads::Threads)
if(NUTSHELL_DAEMON)
  pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive)
  pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
endif()
if(NUTSHELL_DAEMON AND NUTSHELL_GRPC)
  pkg_check_modules(protobuf REQUIRED IMPORTED_TARGET protobuf)
  # Named one by one: its .pc file also lists all their dependencies, for static programs.
  find_library(GRPCPP grpc++ REQUIRED)
  find_library(GRPC grpc REQUIRED)
  find_library(GRPCPP_REFLECTION grpc++_reflection REQUIRED)
  find_library(GPR gpr REQUIRED)
  find_library(ABSL_SYNCHRONIZATION absl_synchronization REQUIRED)  # used by its headers
  find_program(PROTOC protoc REQUIRED)
endif()
if(NUTSHELL_TESTS)
  find_package(GTest REQUIRED)
endif()
