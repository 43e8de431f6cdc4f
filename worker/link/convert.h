// Converts messages to and from protobuf. Only this, coordinator_link and coordinator_stream know
// the wire.
#ifndef HPC_WORKER_LINK_CONVERT_H_
#define HPC_WORKER_LINK_CONVERT_H_

#include <optional>
#include <vector>

#include "hpc/v1/worker.pb.h"
#include "protocol/coordinator_message.h"
#include "protocol/node_report.h"
#include "protocol/worker_message.h"
#include "worker/link/link.h"
#include "worker/os/inventory.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// See Heartbeat in worker.proto.
struct BeatTimes {
  int64_t sent_us = 0;
  int64_t heard_us = 0;
  int64_t heard_at_us = 0;
};

v1::WorkerMessage ToProto(const protocol::Hello& hello);
v1::WorkerMessage ToProto(const protocol::WorkerMessage& message);
v1::WorkerMessage HeartbeatToProto(const std::vector<DeviceUsage>& usage,
                                   const protocol::Heartbeat& beat, const BeatTimes& times,
                                   bool answer_may_wait);
v1::WorkerMessage ToProto(const protocol::Inventory& inventory);

// nullopt: this version does not know the message.
std::optional<protocol::CoordinatorMessage> FromProto(const v1::CoordinatorMessage& message);

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_CONVERT_H_
