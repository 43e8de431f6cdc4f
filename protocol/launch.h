// How the ranks of a run are launched.
#ifndef HPC_PROTOCOL_LAUNCH_H_
#define HPC_PROTOCOL_LAUNCH_H_

namespace hpc::protocol {

// Which family of environment variables the ranks get (docs/DESIGN.md, "Environment families").
enum class LaunchMode { kTorchrun = 1, kPerNode = 2, kSlurm = 3 };

// Who serves the TCPStore of an attempt.
enum class StoreHost {
  kAuto = 1,    // the worker for several ranks, if each node's torch can be a client of it
  kWorker = 2,  // always the worker of rank 0
  kRank0 = 3,   // rank 0 itself
};

// Whether ranks of a Python program may be copies of a process that has imported their modules.
enum class WarmStart { kAuto = 1, kOff = 2 };

// By which signal ranks are told to end. kAuto: SIGTERM, or SIGINT where somebody typed Ctrl-C.
enum class StopSignal { kAuto = 1, kTerm = 2, kInt = 3, kHup = 4, kQuit = 5, kUsr1 = 6, kUsr2 = 7 };

// How old scripts of torch.distributed.launch are told their local rank.
enum class LegacyLocalRank { kNone = 1, kDash = 2, kUnderscore = 3 };

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_LAUNCH_H_
