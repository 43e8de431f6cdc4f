// One communicator of NCCL: made, used, watched and ended without ever blocking on a peer that does
// not come.
//
// NCCL itself names no rank, knows no deadline, and only reports errors when it is asked. So a
// thread asks: for errors that NCCL found by itself, and for operations whose deadline has passed.
// It hands what it finds to the group's watch (watched_group.h). When the group is dead it aborts
// the communicator, which ends the kernels that wait for others on the GPU.
//
// NCCL's communicators are not thread-safe. Its calls return at once here (they do not block), so
// all of them are made one at a time. If a call does not come back all the same, the communicator
// is revoked where this NCCL can do that, and else aborted while the call is in it.
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

// An operation under way. It keeps its tensors until it is done, or until the next user of their
// memory can only come after it.
class NcclOperation {
 public:
  NcclOperation(Begun begun, std::vector<at::Tensor> tensors)
      : begun_(std::move(begun)), tensors_(std::move(tensors)) {}

  const Begun& begun() const { return begun_; }

  // Does what StreamMark's does. May be called once NcclChannel::Start has returned the operation.
  bool LetCurrentFollow(std::chrono::milliseconds limit);

 private:
  friend class NcclChannel;
  std::shared_ptr<StreamMark> mark();
  bool Done();
  bool Settled();  // it is done, or somebody has waited for it

  const Begun begun_;
  std::mutex mutex_;
  std::vector<at::Tensor> tensors_;
  std::shared_ptr<StreamMark> mark_;  // none until NCCL has taken the operation
  bool followed_ = false;
};

// Start may be called from any thread. Connect must come before it, and Close after it.
class NcclChannel : public std::enable_shared_from_this<NcclChannel> {
 public:
  // A call of NCCL's that begins an operation, and its name in errors.
  struct Call {
    const char* name;
    std::function<NcclResult(NcclComm* comm, NcclStream stream)> make;
  };

  // Lives no longer than `group`, which is told of what goes wrong.
  NcclChannel(std::shared_ptr<const NcclLibrary> library, std::unique_ptr<DeviceStream> stream,
              std::shared_ptr<WatchedGroup> group);

  // Connects the ranks. All ranks must call it, within WatchedGroup::Begin as for Start, with the
  // id that one of them got. Throws as Start does. Close must follow in any case.
  void Connect(const Begun& begun, const NcclUniqueId& id);

  // Starts an operation after what the calling thread's current stream was given by now. Throws
  // PeerFault, or std::runtime_error where it is this rank's own fault.
  std::shared_ptr<NcclOperation> Start(const Begun& begun, const Call& call,
                                       std::vector<at::Tensor> tensors);

  // Waits for what is under way, which is bounded by its deadline, and frees the communicator.
  // Aborts it if that takes longer than 10 s. If nobody has waited for what is under way, ends the
  // group first.
  void Close();

 private:
  struct Fault {
    Begun begun;
    std::string error;
    bool own;  // it is this rank's own
  };
  // Orders to the watch. They are shared with the group, which may outlive this object.
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

  std::timed_mutex calls_;                // allows one call of NCCL at a time
  NcclComm* made_ = nullptr;              // NCCL may set it in a thread of its own
  std::atomic<NcclComm*> comm_{nullptr};  // null before Connect, and when it is gone

  const std::shared_ptr<Wish> wish_ = std::make_shared<Wish>();
  // With the mutex of wish_:
  std::deque<std::shared_ptr<NcclOperation>> under_way_;  // they are done in this order
  Begun last_;
  bool ended_ = false;  // the watch has

  std::thread watch_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_NCCL_CHANNEL_H_
