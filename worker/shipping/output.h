// Brings all output of all attempts to the coordinator, and knows when their files may be removed.
#ifndef HPC_WORKER_SHIPPING_OUTPUT_H_
#define HPC_WORKER_SHIPPING_OUTPUT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "protocol/worker_message.h"
#include "worker/loop/event_loop.h"
#include "worker/shipping/log_shipper.h"
#include "worker/shipping/metric_shipper.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

class Output {
 public:
  // How often metrics files are looked at while ranks run.
  static constexpr absl::Duration kMetricsInterval = absl::Milliseconds(250);
  // A coordinator that has given up an attempt may refuse the rest of its output. After this long
  // without any progress the files are removed nevertheless.
  static constexpr absl::Duration kDropPatience = absl::Seconds(30);

  // `on_droppable`: the files of a forgotten attempt may be removed; its output is forgotten here.
  Output(EventLoop* loop, std::function<void(protocol::WorkerMessage)> send,
         std::function<void(AttemptRef)> on_droppable);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // See MetricShipper::Add.
  void Add(AttemptRef ref, const std::string& ranks_dir, const std::string& record_dir,
           const std::vector<int32_t>& ranks, bool known);
  // Called before the attempt's first rank starts, when nothing can have been written.
  void Remove(AttemptRef ref);
  void OnOutput(AttemptRef ref, const OutputGrown& output);
  // No process of the attempt is left.
  void OnReturned(AttemptRef ref);
  void DropWhenDone(AttemptRef ref);

  void OnConnected();
  void OnDisconnected();
  void OnAck(const protocol::LogAck& ack);
  void OnAck(const protocol::MetricAck& ack);

  // Sends what may be sent. Called after each round of the loop.
  void Pump();

 private:
  struct Drop {
    int64_t acknowledged = 0;
    MonoTime give_up;
  };
  void PollSoon();
  void Poll();
  void PumpMetrics(absl::Time now, std::optional<AttemptRef> only);
  void PumpLogs(MonoTime now);
  void DropDone();

  EventLoop* const loop_;
  LogShipper logs_;
  MetricShipper metrics_;
  std::function<void(AttemptRef)> on_droppable_;
  std::map<AttemptRef, bool> live_;  // false: the attempt has returned
  std::map<AttemptRef, Drop> drops_;
  bool connected_ = false;
  EventLoop::TimerId timer_ = 0;
  EventLoop::TimerId line_timer_ = 0;  // sends a line that is held back
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SHIPPING_OUTPUT_H_
