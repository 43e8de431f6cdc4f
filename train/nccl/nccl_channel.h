// One communicator of NCCL: made, used, watched and ended without ever blocking on a peer that does
// not come.
//
// NCCL itself names no rank, knows no deadline, and says what went wrong only to who asks. So a
// thread asks: for errors that NCCL found by itself, and for operations whose deadline has passed.
// What it finds it hands to the group's watch (watched_group.h), and when the group is dead it
// aborts the communicator, which ends the kernels that wait for others on the GPU.
//
// NCCL's communicators are not thread-safe, and its calls return at once here (they do not block):
// all of them are made one at a time. If one does not come back all the same, the communicator is
// revoked where this NCCL can do that, and else aborted while the call is in it.
#ifndef HPC_TRAIN_NCCL_NCCL_CHANNEL_H_
#define HPC_TRAIN_NCCL_NCCL_CHANNEL_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "train/group/watched_group.h"
#include "train/nccl/device_stream.h"
#include "train/nccl/nccl_library.h"

namespace hpc::train {

// An operation under way. Keeps its tensors until it is done, or until what may use their memory
// next comes behind it.
class NcclOperation {
 public:
  NcclOperation(Begun begun, std::vector<at::Tensor> tensors)
      : begun_(std::move(begun)), tensors_(std::move(tensors)) {}

  const Begun& begun() const { return begun_; }

  // As StreamMark's, once NcclChannel::Start has returned it.
  bool LetCurrentFollow(std::chrono::milliseconds limit);

 private:
  friend class NcclChannel;
  std::shared_ptr<StreamMark> mark();
  bool Done();
  bool Settled();  // done, or somebody has waited for it

  const Begun begun_;
  std::mutex mutex_;
  std::vector<at::Tensor> tensors_;
  std::shared_ptr<StreamMark> mark_;  // none until NCCL has taken it
  bool followed_ = false;
};

// Start from any thread; Connect comes before, Close after.
class NcclChannel : public std::enable_shared_from_this<NcclChannel> {
 public:
  // A call of NCCL's that begins an operation, and its name in errors.
  struct Call {
    const char* name;
    std::function<NcclResult(NcclComm* comm, NcclStream stream)> make;
  };

  // Ends with `group`, which is told of what goes wrong.
  NcclChannel(std::shared_ptr<const NcclLibrary> library, std::unique_ptr<DeviceStream> stream,
              std::shared_ptr<WatchedGroup> group);

  // Within WatchedGroup::Begin, as Start: on all ranks, with the id that one of them got. Throws as
  // Start. Close must follow, whatever came of it.
  void Connect(const Begun& begun, const NcclUniqueId& id);

  // Behind what the calling thread's current stream was given by now. Throws PeerFault, or
  // std::runtime_error where it is this rank's own fault.
  std::shared_ptr<NcclOperation> Start(const Begun& begun, const Call& call,
                                       std::vector<at::Tensor> tensors);

  // Waits for what is under way, which its deadline bounds, and frees the communicator, or aborts
  // it if it does not go in peace within 10 s. Ends the group first where nobody has waited
  // for what is under way.
  void Close();

 private:
  struct Fault {
    Begun begun;
    std::string error;
    bool own;  // this rank's
  };
  // What the watch is to do; shared with the group, which may outlive this.
  struct Wish {
    std::mutex mutex;
    std::condition_variable changed;
    bool abort = false, leave = false;
  };

  void Watch();
  std::optional<Fault> Look();
  std::optional<Fault> LookAtOperations();
  std::optional<Fault> LookAtCommunicator();
  bool Dead() const { return group_->verdict().has_value(); }
  NcclResult Settled(std::chrono::steady_clock::time_point until);
  void Check(const char* name, NcclResult result, std::chrono::steady_clock::time_point until);
  std::string Describe(const char* name, NcclResult result) const;
  std::shared_ptr<NcclOperation> Add(const Begun& begun, std::vector<at::Tensor> tensors);
  void Remove(const NcclOperation* operation);
  void LeaveInPeace();
  void AbortNow();

  const std::shared_ptr<const NcclLibrary> library_;
  const std::unique_ptr<DeviceStream> stream_;
  const std::shared_ptr<WatchedGroup> group_;

  std::timed_mutex calls_;                // of NCCL
  NcclComm* made_ = nullptr;              // NCCL may set it in a thread of its own
  std::atomic<NcclComm*> comm_{nullptr};  // none before Connect, and when it is gone

  const std::shared_ptr<Wish> wish_ = std::make_shared<Wish>();
  // With the mutex of wish_:
  std::deque<std::shared_ptr<NcclOperation>> under_way_;  // done in this order
  Begun last_;
  bool ended_ = false;  // the watch

  std::thread watch_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_NCCL_CHANNEL_H_
