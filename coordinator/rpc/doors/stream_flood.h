// Calls that a peer makes and takes back at once, without end.
#ifndef HPC_COORDINATOR_RPC_DOORS_STREAM_FLOOD_H_
#define HPC_COORDINATOR_RPC_DOORS_STREAM_FLOOD_H_

namespace hpc::coordinator {

// Whether such calls are bounded in this program (cmake/stream_flood.cc), which depends on the gRPC
// that it was built with. Where they are not, they cost memory until the next look at what has
// come.
#ifdef HPC_STREAM_FLOOD
constexpr bool kStreamFloodIsBounded = true;
#else
constexpr bool kStreamFloodIsBounded = false;
#endif

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_STREAM_FLOOD_H_
