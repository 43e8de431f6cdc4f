// libnccl.so.2, loaded at run time, so that one program serves PCs with and without a GPU.
#ifndef HPC_TRAIN_NCCL_NCCL_LIBRARY_H_
#define HPC_TRAIN_NCCL_NCCL_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "train/nccl/nccl_abi.h"

namespace hpc::train {

// NCCL's calls, named as NCCL names them without "nccl".
struct NcclLibrary {
  std::string path;  // the path by which it was loaded
  int version = 0;   // in the form of kNcclVersionOfAbi

  NcclResult (*get_version)(int* version);
  NcclResult (*get_unique_id)(NcclUniqueId* id);
  NcclResult (*comm_init_rank_config)(NcclComm** comm, int ranks, NcclUniqueId id, int rank,
                                      NcclConfig* config);
  NcclResult (*comm_get_async_error)(NcclComm* comm, NcclResult* error);
  NcclResult (*comm_finalize)(NcclComm* comm);
  NcclResult (*comm_destroy)(NcclComm* comm);
  NcclResult (*comm_abort)(NcclComm* comm);
  const char* (*get_error_string)(NcclResult result);
  const char* (*get_last_error)(NcclComm* comm);
  NcclResult (*all_reduce)(const void* send, void* receive, size_t count, NcclType type, NcclOp op,
                           NcclComm* comm, NcclStream stream);
  NcclResult (*reduce_scatter)(const void* send, void* receive, size_t receive_count, NcclType type,
                               NcclOp op, NcclComm* comm, NcclStream stream);
  NcclResult (*all_gather)(const void* send, void* receive, size_t send_count, NcclType type,
                           NcclComm* comm, NcclStream stream);
  NcclResult (*broadcast)(const void* send, void* receive, size_t count, NcclType type, int root,
                          NcclComm* comm, NcclStream stream);

  // nullptr if this version has no such call. It ends what is under way without freeing the
  // communicator, so it may be called while another thread is in a call with the communicator.
  NcclResult (*comm_revoke)(NcclComm* comm, int flags) = nullptr;
};

// Returns "2.29.7", for example.
std::string NcclVersionText(int version);

// Returns the libraries that LoadNccl tries, in order. If HPC_NCCL_LIBRARY is set, it is the only
// one. Otherwise these are what LibTorch may have loaded into the process or the loader finds, and
// the nvidia/nccl/lib folder beside LibTorch's. `torch_folder` is the folder of libtorch_cpu.so.
std::vector<std::string> NcclCandidates(const std::string& torch_folder);

// Loads the first of `candidates` that can be loaded. It stays in the process. Throws
// std::runtime_error that names all of them and why each failed, or one that is too old and what it
// lacks.
std::shared_ptr<const NcclLibrary> LoadNccl(const std::vector<std::string>& candidates);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_NCCL_LIBRARY_H_
