// The group of one rank. With it, a program for many PCs also runs alone, without store or network.
#ifndef HPC_TRAIN_GROUP_LONE_COMMUNICATOR_H_
#define HPC_TRAIN_GROUP_LONE_COMMUNICATOR_H_

#include <mutex>

#include "train/group/communicator.h"

namespace hpc::train {

// It takes tensors of any device. Operations are done when they return; on a GPU, in its current
// stream.
class LoneCommunicator : public Communicator {
 public:
  explicit LoneCommunicator(int number = 0) : number_(number) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  int NumberOf(int) const override { return number_; }
  PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) override;
  PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                           Options options) override;
  PendingPtr AllGather(at::Tensor output, at::Tensor input, Options options) override;
  PendingPtr AllToAll(at::Tensor output, std::vector<int64_t> output_counts, at::Tensor input,
                      std::vector<int64_t> input_counts, Options options) override;
  PendingPtr Broadcast(at::Tensor tensor, int root, Options options) override;
  PendingPtr Barrier(Options options) override;
  void Abort(const std::string& reason) override;
  void AbortForAll(const std::string& reason) override { Abort(reason); }

 private:
  PendingPtr Done(const Options& options);

  const int number_;
  std::mutex mutex_;
  std::optional<std::string> aborted_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_LONE_COMMUNICATOR_H_
