# hpc_proto(name [LITE] PROTOS a.proto ...): makes the messages of proto/hpc/v1 a library `name`. A
# name with a folder is below proto. With LITE, the messages cannot describe themselves, and a
# program starts without reading their descriptions; reading them is half of what hpcctl would do
# until main(). All messages of a program must be of one kind.
# hpc_proto_grpc(name [LITE] PROTOS a.proto ... DEPS ...): makes the service stubs a library of
# their own, so that only what really speaks gRPC pays for compiling its headers.
function(hpc_proto_rule out_srcs out_dir suffix lite)
  set(dir ${CMAKE_BINARY_DIR}/proto_gen)
  set(messages ${dir})
  if(lite)
    string(APPEND dir _lite)
    set(messages lite:${dir})
  endif()
  file(MAKE_DIRECTORY ${dir})
  set(srcs)
  foreach(proto ${ARGN})
    if(NOT proto MATCHES "/")
      set(proto hpc/v1/${proto})
    endif()
    string(REPLACE ".proto" "" base ${proto})
    set(src ${dir}/${base}.${suffix}.cc)
    if(suffix STREQUAL "pb")
      set(cmd ${HPC_PROTOC} -I${CMAKE_SOURCE_DIR}/proto --cpp_out=${messages})
    else()
      set(cmd ${HPC_PROTOC} -I${CMAKE_SOURCE_DIR}/proto --grpc_out=${dir}
        --plugin=protoc-gen-grpc=${HPC_GRPC_PLUGIN})
    endif()
    add_custom_command(
      OUTPUT ${src} ${dir}/${base}.${suffix}.h
      COMMAND ${cmd} ${proto}
      DEPENDS ${CMAKE_SOURCE_DIR}/proto/${proto}
      VERBATIM)
    list(APPEND srcs ${src})
  endforeach()
  set(${out_srcs} ${srcs} PARENT_SCOPE)
  set(${out_dir} ${dir} PARENT_SCOPE)
endfunction()

# This code takes long to compile, and little of the run time is spent in it.
function(hpc_generated name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1> -w)
  hpc_watch_memory_only(${name})
endfunction()

function(hpc_proto name)
  cmake_parse_arguments(A "LITE" "" "PROTOS;DEPS" ${ARGN})
  hpc_proto_rule(srcs dir pb ${A_LITE} ${A_PROTOS})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${srcs})
  hpc_generated(${name})
  target_include_directories(${name} SYSTEM PUBLIC ${dir})
  target_link_libraries(${name} PUBLIC hpc_dep_protobuf ${A_DEPS})
endfunction()

function(hpc_proto_grpc name)
  cmake_parse_arguments(A "LITE" "" "PROTOS;DEPS" ${ARGN})
  hpc_proto_rule(srcs dir grpc.pb ${A_LITE} ${A_PROTOS})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${srcs})
  hpc_generated(${name})
  hpc_compile_together(${name} 4)
  target_include_directories(${name} SYSTEM PUBLIC ${dir})
  target_link_libraries(${name} PUBLIC hpc_dep_grpc ${A_DEPS})
endfunction()
