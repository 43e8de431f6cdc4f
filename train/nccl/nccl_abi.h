// The part of NCCL's binary interface that is used here, as nccl.h of 2.29.7 declares it, the
// version that PyTorch 2.13 comes with (github.com/NVIDIA/nccl, src/nccl.h.in). It is declared
// again so that nothing of NCCL is needed to build: the library is loaded at run time
// (nccl_library.h).
//
// It holds for other versions of libnccl.so.2, too. Numbers of results, types and operations have
// never changed. The configuration begins with its own size and the version that it was written
// for, by which older and newer libraries know which fields there are.
#ifndef HPC_TRAIN_NCCL_NCCL_ABI_H_
#define HPC_TRAIN_NCCL_NCCL_ABI_H_

#include <climits>
#include <cstddef>

namespace hpc::train {

inline constexpr int kNcclVersionOfAbi = 22907;   // 2.29.7: major x 10000 + minor x 100 + patch
inline constexpr int kNcclOldestVersion = 21400;  // the first one with non-blocking communicators

struct NcclComm;           // ncclComm_t is a pointer to one
using NcclStream = void*;  // a cudaStream_t

struct NcclUniqueId {
  char bytes[128];
};

enum class NcclResult : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

enum class NcclType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
};

enum class NcclOp : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3 };

// NCCL's ncclConfig_t. INT_MIN and nullptr stand for NCCL's default.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = kNcclVersionOfAbi;
  int blocking = INT_MIN;
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
  const char* comm_name = nullptr;
  int collnet_enable = INT_MIN;
  int cta_policy = INT_MIN;
  int shrink_share = INT_MIN;
  int nvls_ctas = INT_MIN;
  int channels_per_net_peer = INT_MIN;
  int nvlink_centric_sched = INT_MIN;
  int graph_usage_mode = INT_MIN;
  int num_rma_ctx = INT_MIN;
};
static_assert(sizeof(NcclConfig) == 88, "as the compiler lays out ncclConfig_t of 2.29.7");

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_NCCL_ABI_H_
