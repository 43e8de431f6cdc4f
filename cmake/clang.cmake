# The compiler of the presets asan and tsan, as a toolchain file: clang 14, which Debian 12 has and CI
# uses, or else the newest of those after it. deploy/install-deps.sh installs the one of the release.
find_program(HPC_CLANG NAMES clang-14 clang-19 clang-18 clang-17 clang-16 clang-15)
if(NOT HPC_CLANG)
  message(FATAL_ERROR "No clang from 14 to 19 found: deploy/install-deps.sh test installs one")
endif()
set(CMAKE_C_COMPILER ${HPC_CLANG})
string(REPLACE "clang-" "clang++-" CMAKE_CXX_COMPILER ${HPC_CLANG})
