// Measures what a sharded optimizer saves: the bytes of all tensors of a rank.
#include <torch/torch.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/sharded/sharded_optimizer.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

// Counts the bytes of this process's tensors.
class CountingAllocator : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) override {
    auto* block = new Block{std::aligned_alloc(64, (bytes + 63) / 64 * 64), bytes};
    allocated += static_cast<double>(bytes);
    return {block->data, block, &Free, at::kCPU};
  }
  void copy_data(void* to, const void* from, size_t count) const override {
    std::memcpy(to, from, count);
  }

  static inline std::atomic<double> allocated = 0;

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  static void Free(void* context) {
    auto* block = static_cast<Block*>(context);
    allocated -= static_cast<double>(block->bytes);
    std::free(block->data);
    delete block;
  }
};

// Returns the bytes when Gloo's thread, of which there is one, has released what was done. This is
// no barrier, because a barrier refers to what was under way.
double SettledAllocated(Communicator& group) {
  group.AllReduce(at::zeros({1}), ReduceOp::kSum, {"settle", {}})->Wait();
  return CountingAllocator::allocated;
}

TEST(ShardedMemory, IsWhatTheFormulaSays) {
  constexpr int64_t kWidth = 256, kLayers = 96;
  constexpr double kBytes = kLayers * kWidth * kWidth * 4;
  for (int ranks : {2, 4}) {
    for (int stage : {1, 2}) {
      auto outcomes = RunRanks(ranks, [&](const LaunchEnvironment& environment) -> Values {
        static CountingAllocator counting;
        c10::SetAllocator(c10::kCPU, &counting, /*priority=*/100);
        auto group = MakeGlooCommunicator(environment, {.threads = 1});
        torch::nn::Sequential net;
        for (int i = 0; i < kLayers; ++i) {
          net->push_back(torch::nn::Linear(torch::nn::LinearOptions(kWidth, kWidth).bias(false)));
        }
        ShardedOptimizer optimizer(
            Algorithm::kAdam, {{Named(net->named_parameters()), {}}}, group,
            {.stage = stage, .first_bucket_bytes = 1, .bucket_bytes = kWidth * kWidth * 4});
        DistributedDataParallel<torch::nn::Sequential> model(net, group,
                                                             {.shard = optimizer.shard()});
        double before = 0, at_last_layer = 0;
        auto backward = [&] {
          const at::Tensor x = torch::ones({1, kWidth}, torch::requires_grad());
          const at::Tensor inner = x * 1;
          inner.register_hook(
              [&](const at::Tensor&) { at_last_layer = CountingAllocator::allocated - before; });
          model(inner).sum().backward();
        };
        optimizer.ZeroGrad();
        backward();
        before = SettledAllocated(*group);
        optimizer.Step();
        const double states = SettledAllocated(*group) - before;
        optimizer.ZeroGrad();
        before = SettledAllocated(*group);
        backward();  // by now it knows when to send
        const double gradients = SettledAllocated(*group) - before;
        group->Barrier({"end", {}})->Wait();
        return {gradients, states, at_last_layer};
      });
      for (const Values& values : ValuesOf(outcomes)) {
        const std::string where = std::to_string(ranks) + " ranks, stage " + std::to_string(stage);
        EXPECT_NEAR(values[1], 2 * kBytes / ranks, 0.05 * 2 * kBytes / ranks) << where;
        const double gradients = stage == 1 ? kBytes : kBytes / ranks;
        EXPECT_NEAR(values[0], gradients, 0.05 * gradients) << where;
        if (stage == 1) continue;
        // The limit allows for four buckets under way with their results, one that is being filled,
        // and gradients that are being computed.
        EXPECT_LT(values[2], kBytes / ranks + 10.5 * kBytes / kLayers) << where;
      }
    }
  }
}

}  // namespace
}  // namespace hpc::train
