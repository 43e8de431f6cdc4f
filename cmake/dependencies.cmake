# Every third-party library, each as one imported interface target: hpc_dep_<name>. With HPC_STATIC
# the archives of Debian's -dev packages are linked, so that the daemons and the client start
# without resolving some fifty shared objects; glibc stays shared.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

function(hpc_dep name)
  add_library(hpc_dep_${name} INTERFACE)
  target_link_libraries(hpc_dep_${name} INTERFACE ${ARGN})
endfunction()

# Sets `out` to the archive (HPC_STATIC) or to the linker name of a library.
function(hpc_find out name)
  if(HPC_STATIC)
    find_library(HPC_LIB_${name} NAMES lib${name}.a REQUIRED)
  else()
    find_library(HPC_LIB_${name} NAMES ${name} REQUIRED)
  endif()
  set(${out} ${HPC_LIB_${name}} PARENT_SCOPE)
endfunction()

function(hpc_find_all out)
  set(found)
  foreach(name ${ARGN})
    hpc_find(one ${name})
    list(APPEND found ${one})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Makes one linker item of a whole group of archives that refer to each other. CMake would remove
# single archives from the group if it meets them twice.
function(hpc_group out)
  list(JOIN ARGN "," joined)
  set(${out} "-Wl,--start-group,${joined},--end-group" PARENT_SCOPE)
endfunction()

# Abseil is several dozen archives that refer to each other, so all of them are taken, in a group.
file(GLOB HPC_ABSL_ARCHIVES ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libabsl_*.a)
if(NOT HPC_ABSL_ARCHIVES)
  message(FATAL_ERROR "Abseil not found: install libabsl-dev (deploy/install-deps.sh does it)")
endif()
if(HPC_STATIC)
  hpc_group(HPC_ABSL_GROUP ${HPC_ABSL_ARCHIVES})
  hpc_dep(absl ${HPC_ABSL_GROUP} Threads::Threads)
else()
  string(REPLACE ".a;" ".so;" HPC_ABSL_SHARED "${HPC_ABSL_ARCHIVES};")
  list(FILTER HPC_ABSL_SHARED EXCLUDE REGEX "^$")
  hpc_dep(absl -Wl,--as-needed ${HPC_ABSL_SHARED} Threads::Threads)
endif()

hpc_find_all(HPC_PROTOBUF protobuf)
hpc_dep(protobuf ${HPC_PROTOBUF} Threads::Threads)

# Libraries that OpenSSL's archives refer to: zlib and zstd, if Debian builds OpenSSL with them (13
# does).
set(HPC_CRYPTO ssl crypto)
if(HPC_STATIC)
  list(APPEND HPC_CRYPTO z zstd)
endif()

if(HPC_STATIC)
  hpc_find_all(HPC_GRPC grpc++ grpc gpr address_sorting upb re2 cares ${HPC_CRYPTO})
  list(REMOVE_DUPLICATES HPC_GRPC)
  hpc_group(HPC_GRPC_GROUP ${HPC_GRPC} ${HPC_PROTOBUF} ${HPC_ABSL_ARCHIVES})
  hpc_dep(grpc ${HPC_GRPC_GROUP} Threads::Threads ${CMAKE_DL_LIBS})
  add_link_options(-static-libstdc++ -static-libgcc)
else()
  hpc_find_all(HPC_GRPC grpc++ grpc gpr)
  hpc_dep(grpc ${HPC_GRPC} hpc_dep_protobuf hpc_dep_absl Threads::Threads)
endif()

hpc_find_all(HPC_OPENSSL ${HPC_CRYPTO})
hpc_group(HPC_OPENSSL_GROUP ${HPC_OPENSSL})
hpc_dep(openssl ${HPC_OPENSSL_GROUP} Threads::Threads ${CMAKE_DL_LIBS})
hpc_find_all(HPC_NGHTTP2 nghttp2)
hpc_dep(nghttp2 ${HPC_NGHTTP2})
hpc_find_all(HPC_SQLITE sqlite3)
hpc_dep(sqlite ${HPC_SQLITE} Threads::Threads ${CMAKE_DL_LIBS} m)
hpc_find_all(HPC_ZSTD zstd)
hpc_dep(zstd ${HPC_ZSTD})
hpc_find_all(HPC_Z z)
hpc_dep(z ${HPC_Z})

find_program(HPC_PROTOC protoc REQUIRED)
find_program(HPC_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
find_library(HPC_LIB_gtest NAMES libgtest.a REQUIRED)
find_library(HPC_LIB_gmock NAMES libgmock.a REQUIRED)
find_library(HPC_LIB_gtest_main NAMES libgmock_main.a REQUIRED)
hpc_dep(gtest ${HPC_LIB_gtest_main} ${HPC_LIB_gmock} ${HPC_LIB_gtest} Threads::Threads)
