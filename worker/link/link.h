// The stream to the coordinator, as the engine sees it.
#ifndef HPC_WORKER_LINK_LINK_H_
#define HPC_WORKER_LINK_LINK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protocol/coordinator_message.h"
#include "protocol/node_report.h"
#include "protocol/worker_message.h"
#include "worker/os/inventory.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// All methods and callbacks run on the loop's thread.
class Link {
 public:
  struct Callbacks {
    std::function<void(const protocol::CoordinatorMessage&)> on_message;
    // Called once per Open, unless Close comes first. OK: the coordinator has answered Finish.
    std::function<void(const absl::Status&)> on_closed;
  };
  virtual ~Link() = default;

  virtual void SetCallbacks(Callbacks callbacks) = 0;

  // Connects and says hello. What is sent next goes behind the hello. The link must not be open.
  virtual void Open(const protocol::Hello& hello) = 0;
  // Messages given to Send and SendHeartbeat since the last Flush are sent with the next one.
  // Output (LogData, LogEnd) waits for everything else, so that it never holds up a heartbeat. All
  // other messages keep their order. That includes metrics, which arrive before the end of their
  // attempt. While nothing is open, messages are dropped.
  // `said_ns` is what BootTimeNs was when the message was made, which the ages in it go by. It may
  // have waited since then.
  virtual void Send(const protocol::WorkerMessage& message, int64_t said_ns) = 0;
  // `answer_may_wait`: the answer may wait until the coordinator says something else.
  virtual void SendHeartbeat(const std::vector<DeviceUsage>& usage, const protocol::Heartbeat& beat,
                             bool answer_may_wait) = 0;
  virtual void SendInventory(const protocol::Inventory& inventory) = 0;
  virtual void Flush() = 0;
  // Says nothing more after what has been sent.
  virtual void Finish() = 0;
  // Ends the link at once.
  virtual void Close() = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_LINK_H_
