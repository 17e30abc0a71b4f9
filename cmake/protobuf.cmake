# Messages of a proto below src/server/grpc, generated at build time, as a library. The template
# NAME.proto.in becomes NAME.proto: the fields of nouns come from their field lists.
# Further names are of protos as they are.
#   nutshell_messages(nutshell/v1/nutshell roche/v1/sandbox)
function(nutshell_messages name)
  set(template ${PROJECT_SOURCE_DIR}/src/server/grpc/${name}.proto.in)
  set(folder ${CMAKE_BINARY_DIR}/generated/messages)
  get_filename_component(package ${folder}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${package})
  add_executable(proto_writer EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/proto_writer.cc)
  target_link_libraries(proto_writer PRIVATE nutshell_core)
  set_target_properties(proto_writer PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/generators)
  add_custom_command(
    OUTPUT ${folder}/${name}.proto
    COMMAND proto_writer ${template} ${folder}/${name}.proto
    DEPENDS proto_writer ${template}
    COMMENT "Writing ${name}.proto"
    VERBATIM)
  add_custom_command(
    OUTPUT ${folder}/${name}.pb.cc ${folder}/${name}.pb.h
    COMMAND ${PROTOC} -I ${folder} --cpp_out=${folder} ${name}.proto
    DEPENDS ${folder}/${name}.proto
    COMMENT "Generating the messages of ${name}.proto"
    VERBATIM)
  set(sources ${folder}/${name}.pb.cc)
  foreach(other IN LISTS ARGN)
    get_filename_component(package ${folder}/${other} DIRECTORY)
    file(MAKE_DIRECTORY ${package})
    set(proto ${PROJECT_SOURCE_DIR}/src/server/grpc/${other}.proto)
    add_custom_command(
      OUTPUT ${folder}/${other}.pb.cc ${folder}/${other}.pb.h
      COMMAND ${PROTOC} -I ${PROJECT_SOURCE_DIR}/src/server/grpc --cpp_out=${folder} ${other}.proto
      DEPENDS ${proto}
      COMMENT "Generating the messages of ${other}.proto"
      VERBATIM)
    list(APPEND sources ${folder}/${other}.pb.cc)
  endforeach()
  add_library(nutshell_messages STATIC ${sources})
  target_compile_options(nutshell_messages PRIVATE -w)  # not ours
  target_include_directories(nutshell_messages SYSTEM PUBLIC ${folder})
  target_link_libraries(nutshell_messages PUBLIC protobuf)
endfunction()
