// A stream flood: a peer makes calls and cancels them at once, without end.
#ifndef HPC_COORDINATOR_RPC_DOORS_STREAM_FLOOD_H_
#define HPC_COORDINATOR_RPC_DOORS_STREAM_FLOOD_H_

namespace hpc::coordinator {

// Whether a stream flood is bounded in this program (cmake/stream_flood.cc). That depends on the
// gRPC that it was built with. Without a bound, such calls cost memory until the server next looks
// at what has come.
#ifdef HPC_STREAM_FLOOD
constexpr bool kStreamFloodIsBounded = true;
#else
constexpr bool kStreamFloodIsBounded = false;
#endif

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_STREAM_FLOOD_H_
