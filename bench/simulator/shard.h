// Some of the simulated nodes, with one queue and one thread that serves it and their timers.
#ifndef HPC_BENCH_SIMULATOR_SHARD_H_
#define HPC_BENCH_SIMULATOR_SHARD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "bench/simulator/node.h"
#include "bench/simulator/queue_link.h"
#include "common/clock.h"
#include "worker/link/route.h"

namespace hpc::simulator {

// Counts how many nodes of all shards are connected.
class Census {
 public:
  // `on_full` is called each time that all nodes are connected, on the thread of the shard whose
  // node came last.
  Census(int nodes, std::function<void(Now)> on_full)
      : nodes_(nodes), on_full_(std::move(on_full)) {}

  void Add(Now now) {
    if (++connected_ == nodes_) on_full_(now);
  }
  void Remove() { --connected_; }

 private:
  const int nodes_;
  const std::function<void(Now)> on_full_;
  std::atomic<int> connected_ = 0;
};

class Shard {
 public:
  explicit Shard(Census* census) : census_(census) {}

  // Must be called before Run. `at` is when the node is switched on. `shared` is as in QueueLink.
  void Add(MonoTime at, Traits traits, worker::Route route, std::shared_ptr<grpc::Channel> shared);
  // Never returns: the thread ends with the process.
  [[noreturn]] void Run();

 private:
  struct Place {
    Traits traits;
    std::unique_ptr<QueueLink> link;
    std::unique_ptr<Node> node;  // null: not switched on yet
    MonoTime due{};
    bool connected = false;  // as the census has counted it
  };
  using Due = std::pair<MonoTime, size_t>;

  void SwitchOn(Place* place, size_t index);
  void TickDue();
  // Must be called after anything has happened to the node.
  void Look(size_t index);
  void Arm(size_t index, MonoTime at);

  Census* const census_;
  const RealClock clock_;
  grpc::CompletionQueue queue_;
  std::vector<Place> places_;
  // An entry whose time is not its place's `due` any more is void.
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace hpc::simulator

#endif  // HPC_BENCH_SIMULATOR_SHARD_H_
