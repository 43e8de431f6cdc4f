# hpc_library(name SRCS a.cc ... DEPS x y [TOGETHER n] [FAST])   makes one small static library per
#   noun or folder. With TOGETHER its sources are compiled n at a time, in their order; this is for
#   sources that are short compared to what they include. FAST: it is optimised in debug builds,
#   too, because simulations run it for minutes.
# hpc_executable(name SRCS ... DEPS ...)
# hpc_test(name SRCS ... DEPS ... [LABELS ...] [TIMEOUT s] [TOGETHER n])   makes a GoogleTest
#   program that CTest runs.
# hpc_fuzz(name SRCS ... DEPS ... CORPUS folder)   makes a libFuzzer program (only with HPC_FUZZ).
#   CTest runs it for a bounded time, from the inputs in tests/fuzz/corpus/<folder>. Inputs that it
#   finds on the way stay in the build folder.
# Under ThreadSanitizer only the tests labelled `threads` are built: those of code with threads of
# its own. None of these runs gRPC, since ThreadSanitizer would report races of the packaged gRPC,
# which is not built with it.
function(hpc_leave_out_under_tsan name labels)
  if(HPC_SANITIZE STREQUAL "thread" AND NOT "threads" IN_LIST labels)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Compiling what sanitizers and fuzzers add to code takes most of the compile time. So tests and
# generated code are watched for memory errors only, and are not explored.
function(hpc_watch_memory_only name)
  if(HPC_SANITIZE MATCHES "undefined")
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

function(hpc_explore name)
  if(HPC_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Sources that are short compared to what they include are compiled several at a time.
option(HPC_UNITY "Compile short sources together" ON)
function(hpc_compile_together name count)
  if(count AND HPC_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

# Tests are run only once. Optimising them would take up to as long as compiling them does.
function(hpc_compile_as_test name)
  target_compile_options(${name} PRIVATE -O0)
  hpc_watch_memory_only(${name})
endfunction()

# Headers that are compiled once for many targets. A target uses them only if it has the compiler
# options with which they were compiled, so there is a set for each kind of target.
option(HPC_PCH "Compile the headers that most files include only once" ON)
add_library(hpc_common_headers OBJECT EXCLUDE_FROM_ALL cmake/headers/none.cc)
target_precompile_headers(hpc_common_headers PRIVATE cmake/headers/common.h)
hpc_explore(hpc_common_headers)
# Test programs use the headers that HPC_TEST_HEADERS names.
function(hpc_test_headers name header)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/headers/none.cc)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/headers/${header})
  hpc_compile_as_test(${name})
  # Tests are programs. Programs are compiled with -fPIE, and libraries with -fPIC.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE)
endfunction()
hpc_test_headers(hpc_test_headers test.h)
set(HPC_TEST_HEADERS hpc_test_headers)

# g++ forgets that a header compiled before is the system's, and speaks of code inside std::string.
if(HPC_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-stringop-overread -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict)
endif()

function(hpc_reuse_headers name from)
  if(HPC_PCH)
    target_precompile_headers(${name} REUSE_FROM ${from})
  endif()
endfunction()

# A library is built only if something needs it.
function(hpc_library name)
  cmake_parse_arguments(A "FAST" "TOGETHER" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${A_SRCS})
  target_link_libraries(${name} PUBLIC ${A_DEPS})
  hpc_compile_together(${name} "${A_TOGETHER}")
  hpc_explore(${name})
  if(NOT A_FAST OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    hpc_reuse_headers(${name} hpc_common_headers)
    return()
  endif()
  target_compile_options(${name} PRIVATE -O1)
  if(HPC_PCH)
    target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/headers/common.h)
  endif()
endfunction()

function(hpc_executable name)
  cmake_parse_arguments(A "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${A_SRCS})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  hpc_leave_out_under_tsan(${name} "")
  if(HPC_STATIC)
    # This puts 40,000 relocations into 10 kB instead of 900 kB, which would stay in memory. bfd is
    # used, since glibc does not accept these relocations from lld 14.
    target_link_options(${name} PRIVATE -fuse-ld=bfd -Wl,-z,pack-relative-relocs)
  endif()
endfunction()

function(hpc_test name)
  cmake_parse_arguments(A "" "TIMEOUT;TOGETHER" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  if(HPC_SANITIZE)  # which makes a program several times as slow
    math(EXPR A_TIMEOUT "${A_TIMEOUT} * 2")
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  add_executable(${name} ${A_SRCS})
  target_link_libraries(${name} PRIVATE ${A_DEPS} hpc_dep_gtest)
  hpc_compile_together(${name} "${A_TOGETHER}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  hpc_compile_as_test(${name})
  hpc_reuse_headers(${name} ${HPC_TEST_HEADERS})
  hpc_leave_out_under_tsan(${name} "${A_LABELS}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
endfunction()

function(hpc_fuzz name)
  if(NOT HPC_FUZZ)
    return()
  endif()
  cmake_parse_arguments(A "" "CORPUS" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${A_SRCS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  hpc_explore(${name})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  set(found ${CMAKE_BINARY_DIR}/fuzz/corpus/${A_CORPUS})
  file(MAKE_DIRECTORY ${found})
  # -entropic=0: weighing inputs by their rare features takes longer than running them.
  add_test(NAME ${name} COMMAND ${name} -seed=1 -runs=200000 -max_total_time=5 -timeout=10
    -entropic=0 -print_final_stats=1 ${found} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${A_CORPUS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
endfunction()
