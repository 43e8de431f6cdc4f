# hpc_library(name SRCS a.cc ... DEPS x y [TOGETHER n])   one small static library per noun or folder.
#   Its sources are compiled n at a time, in their order: for those that are short beside what they
#   include.
# hpc_executable(name SRCS ... DEPS ...)
# hpc_test(name SRCS ... DEPS ... [LABELS ...] [TIMEOUT s])   a GoogleTest program run by CTest
# hpc_fuzz(name SRCS ... DEPS ... CORPUS folder)   a libFuzzer program (only with HPC_FUZZ). SRCS are
#   its own and those it is to explore, which are compiled once more with its instrumentation. CTest
#   runs it for a bounded time, from the inputs kept in tests/fuzz/corpus/<folder>; what it finds on
#   the way stays in the build folder.
# ThreadSanitizer reports races of the packaged gRPC, which is not built with it: what runs gRPC is not
# tested under it, and not built.
function(hpc_leave_out_under_tsan name)
  if(HPC_SANITIZE STREQUAL "thread")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Not with fuzzers: they compile some of a library's sources once more, and the linker has to take the
# others without those.
function(hpc_compile_together name count)
  if(count AND NOT HPC_FUZZ)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

# Built where something needs it.
function(hpc_library name)
  cmake_parse_arguments(A "" "TOGETHER" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${A_SRCS})
  target_link_libraries(${name} PUBLIC ${A_DEPS})
  hpc_compile_together(${name} "${A_TOGETHER}")
endfunction()

function(hpc_executable name)
  cmake_parse_arguments(A "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${A_SRCS})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  hpc_leave_out_under_tsan(${name})
endfunction()

function(hpc_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  add_executable(${name} ${A_SRCS})
  target_link_libraries(${name} PRIVATE ${A_DEPS} hpc_dep_gtest)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if("grpc" IN_LIST A_LABELS)
    hpc_leave_out_under_tsan(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
endfunction()

function(hpc_fuzz name)
  if(NOT HPC_FUZZ)
    return()
  endif()
  cmake_parse_arguments(A "" "CORPUS" "SRCS;DEPS" ${ARGN})
  set(flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
  add_executable(${name} ${A_SRCS})
  target_compile_options(${name} PRIVATE ${flags} -O1)
  target_link_options(${name} PRIVATE ${flags})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  set(found ${CMAKE_BINARY_DIR}/fuzz/corpus/${A_CORPUS})
  file(MAKE_DIRECTORY ${found})
  add_test(NAME ${name} COMMAND ${name} -runs=200000 -max_total_time=30 -timeout=10
    -print_final_stats=1 ${found} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${A_CORPUS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
endfunction()
