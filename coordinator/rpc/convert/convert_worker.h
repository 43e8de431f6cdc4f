// Converts what workers say, and what they are told, between the wire and plain values.
#ifndef HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_
#define HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_

#include <optional>
#include <vector>

#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/records.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/store.h"
#include "hpc/v1/worker.pb.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

// ---- a worker says
protocol::Hello FromProto(const v1::Hello& hello);
protocol::RankExit FromProto(const v1::RankExit& exit);
protocol::OwnerChanged FromProto(const v1::OwnerChanged& change);
protocol::Prepared FromProto(const v1::Prepared& prepared);
EnvironmentRecord FromProto(const v1::Environment& environment);
protocol::Started FromProto(const v1::Started& started);
std::vector<protocol::RankDoing> FromProto(const v1::Heartbeat& heartbeat);
protocol::RankEnded FromProto(const v1::RankEnded& ended);
protocol::AttemptHalted FromProto(const v1::AttemptHalted& halted);
protocol::AttemptReturned FromProto(const v1::AttemptReturned& returned);
protocol::Doubted FromProto(const v1::Doubted& doubted);
protocol::Recalled FromProto(const v1::Recalled& recalled);
// nullopt: the worker does not tell.
std::optional<NodeTimes> TimesOf(const v1::WorkerMessage& message);
protocol::RendezvousReport FromProto(const v1::Rendezvous& rendezvous);
protocol::StreamId FromProto(const v1::LogData& data);
protocol::StreamId FromProto(const v1::LogEnd& end);
// `now`: when the message arrived.
MetricReport FromProto(const v1::MetricData& data, absl::Time now);

// ---- a worker is told
v1::CoordinatorMessage ToProto(const protocol::CoordinatorMessage& message);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_
