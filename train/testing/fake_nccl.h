// A library that stands in for NCCL where there is no GPU: its calls work between processes of one
// PC, on memory of the CPU, in streams that are threads (host_stream.h). It keeps to what NCCL
// promises of communicators that do not block, and ends the process that uses one in two threads at
// a time, or after its end.
//
// It fails where the environment says so, in this process:
//
//     FAKE_NCCL="ncclAllReduce 2 fail 2"    the second call of that name returns result 2
//
// fail      returns the result
// async     succeeds, but what it began never ends, and ncclCommGetAsyncError says the result
// never     succeeds, or is in progress, and what it began never ends
// hang      does not return until the communicator is revoked or aborted
#ifndef HPC_TRAIN_TESTING_FAKE_NCCL_H_
#define HPC_TRAIN_TESTING_FAKE_NCCL_H_

#include <string>

namespace hpc::train {

// Where ranks that were made by process `parent` meet: what the names of their files begin with.
inline std::string FakeNcclFiles(int parent) {
  return "/dev/shm/fake_nccl_" + std::to_string(parent) + "_";
}

// What it takes for a cudaStream_t.
struct FakeStream {
  void (*enqueue)(FakeStream* self, void (*run)(void* argument), void* argument);
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_FAKE_NCCL_H_
