# Messages of a .proto file below src/server/grpc, generated at build time, as a library.
#   nutshell_messages(nutshell/v1/nutshell.proto)
function(nutshell_messages proto)
  set(source ${PROJECT_SOURCE_DIR}/src/server/grpc)
  set(folder ${CMAKE_BINARY_DIR}/generated/messages)
  string(REGEX REPLACE "\\.proto$" "" name ${proto})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/${name}.pb.cc ${folder}/${name}.pb.h
    COMMAND ${PROTOC} -I ${source} --cpp_out=${folder} ${proto}
    DEPENDS ${source}/${proto}
    COMMENT "Generating the messages of ${proto}"
    VERBATIM)
  add_library(nutshell_messages STATIC ${folder}/${name}.pb.cc)
  target_compile_options(nutshell_messages PRIVATE -w)  # not ours
  target_include_directories(nutshell_messages SYSTEM PUBLIC ${folder})
  target_link_libraries(nutshell_messages PUBLIC PkgConfig::protobuf)
endfunction()
