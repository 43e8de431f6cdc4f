# Options and flags that hold for every target.
option(HPC_STATIC "Link gRPC, Abseil, Protobuf and OpenSSL statically" OFF)
option(HPC_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(HPC_WERROR "Warnings are errors: for those who change the sources, whose compilers are known" OFF)
set(HPC_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(HPC_CCACHE ccache)
if(HPC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${HPC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HPC_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(HPC_WERROR)
  add_compile_options(-Werror)
endif()
# A designated initializer names the members that differ from their defaults. It leaves out the
# others on purpose.
add_compile_options(-Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # What a mutex guards is annotated (absl/base/thread_annotations.h); only clang looks.
  add_compile_options(-Wimplicit-fallthrough -Wthread-safety)
endif()
# Line tables are enough for a stack trace; full debug information doubles the link time.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

if(HPC_SANITIZE)
  add_compile_options(-fsanitize=${HPC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HPC_SANITIZE})
endif()
find_program(HPC_LLD ld.lld)
if(HPC_LLD)
  add_link_options(-fuse-ld=lld)
endif()
add_link_options(-Wl,--gc-sections)
add_compile_options(-ffunction-sections -fdata-sections)

include_directories(${CMAKE_SOURCE_DIR})
add_compile_definitions(HPC_VERSION="${PROJECT_VERSION}")
