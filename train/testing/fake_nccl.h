// A library that stands in for NCCL where there is no GPU. Its calls work between processes of one
// PC, on memory of the CPU, in streams that are threads (host_stream.h). It keeps NCCL's promises
// about non-blocking communicators. It ends a process that uses a communicator in two threads at a
// time, or after its end.
//
// It fails where the environment of this process says so:
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

// Returns the beginning of the names of the files in which ranks meet that process `parent` made.
inline std::string FakeNcclFiles(int parent) {
  return "/dev/shm/fake_nccl_" + std::to_string(parent) + "_";
}

// The stand-in takes this for a cudaStream_t.
struct FakeStream {
  void (*enqueue)(FakeStream* self, void (*run)(void* argument), void* argument);
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_FAKE_NCCL_H_
