// A node's stream to the coordinator on a queue that many nodes share.
#ifndef HPC_BENCH_SIMULATOR_QUEUE_LINK_H_
#define HPC_BENCH_SIMULATOR_QUEUE_LINK_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "protocol/hello.h"
#include "protocol/worker_message.h"
#include "worker/link/coordinator_stream.h"
#include "worker/link/link.h"
#include "worker/link/route.h"

namespace hpc::simulator {

// All calls, also of callbacks, are made on the thread that serves the queue.
class QueueLink final : public worker::Link {
 public:
  // `shared` is the channel to use together with other nodes; null: the node has its own.
  QueueLink(grpc::CompletionQueue* queue, worker::Route route,
            std::shared_ptr<grpc::Channel> shared)
      : queue_(queue),
        route_(std::move(route)),
        shared_(shared != nullptr),
        channel_(std::move(shared)) {}

  void SetCallbacks(Callbacks callbacks) override { callbacks_ = std::move(callbacks); }
  void Open(const protocol::Hello& hello) override;
  // Each message is sent at once, since a node has little to send at a time.
  void Send(const protocol::WorkerMessage& message, int64_t said_ns) override;
  void SendHeartbeat(const std::vector<worker::DeviceUsage>& usage, const protocol::Heartbeat& beat,
                     bool answer_may_wait) override;
  void SendInventory(const protocol::Inventory& inventory) override;
  void Flush() override {}
  void Finish() override;
  void Close() override;

 private:
  void Put(v1::WorkerMessage message, bool bulk);
  void OnMessage(const v1::CoordinatorMessage& message);
  void OnClosed(const absl::Status& why);
  absl::Status NoteEnd(const absl::Status& why);

  grpc::CompletionQueue* const queue_;
  worker::Route route_;
  const bool shared_;
  // The channel is kept from one connection to the next. Making its keys ready takes gRPC longer
  // than all the rest, and a thousand real PCs each do that for themselves. The coordinator sees no
  // difference.
  std::shared_ptr<grpc::Channel> channel_;
  Callbacks callbacks_;
  uint64_t current_ = 0;  // number of the stream; news of an earlier one is not handed on
  std::shared_ptr<worker::CoordinatorStream> stream_;
  bool answered_ = false;  // the coordinator has, on this stream
};

}  // namespace hpc::simulator

#endif  // HPC_BENCH_SIMULATOR_QUEUE_LINK_H_
