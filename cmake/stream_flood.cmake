# hpc_stream_flood: a gRPC server links this to have cmake/stream_flood.cc, which bounds calls that
# peers make and cancel without end. That file stands between functions inside gRPC. So it is used
# only with the gRPC and the Abseil that it was read against, and only if they are linked
# statically. Otherwise hpc_stream_flood is empty, and its users can tell by HPC_STREAM_FLOOD.
add_library(hpc_stream_flood INTERFACE)

pkg_check_modules(HPC_GRPC_PACKAGE QUIET grpc++)
set(HPC_ABSL_NAMESPACE "")
find_file(HPC_ABSL_OPTIONS absl/base/options.h)
if(HPC_ABSL_OPTIONS)
  file(STRINGS ${HPC_ABSL_OPTIONS} found REGEX "^#define ABSL_OPTION_INLINE_NAMESPACE_NAME ")
  string(REGEX REPLACE ".* " "" HPC_ABSL_NAMESPACE "${found}")
endif()
set(HPC_GRPC_FOUND "gRPC ${HPC_GRPC_PACKAGE_VERSION} with Abseil's ${HPC_ABSL_NAMESPACE}")

if(NOT HPC_STATIC)
  message(STATUS "Floods of cancelled calls are not bounded: gRPC is a shared library here")
elseif(NOT HPC_GRPC_FOUND MATCHES "^gRPC 1\\.51\\..* with Abseil's debian3$")
  message(STATUS "Floods of cancelled calls are not bounded: ${HPC_GRPC_FOUND} is not what "
    "cmake/stream_flood.cc was read against")
else()
  add_library(hpc_stream_flood_object OBJECT cmake/stream_flood.cc)
  target_link_libraries(hpc_stream_flood INTERFACE $<TARGET_OBJECTS:hpc_stream_flood_object>)
  target_link_options(hpc_stream_flood INTERFACE
    -Wl,--wrap=_Z33grpc_chttp2_parsing_accept_streamP21grpc_chttp2_transportj
    -Wl,--wrap=grpc_completion_queue_next)
  target_compile_definitions(hpc_stream_flood INTERFACE HPC_STREAM_FLOOD)
endif()
