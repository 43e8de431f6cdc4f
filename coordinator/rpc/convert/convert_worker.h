// Converts what workers say, and what they are told, between the wire and plain values.
#ifndef HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_
#define HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_

#include <optional>

#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/records.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/store.h"
#include "hpc/v1/worker.pb.h"
#include "protocol/coordinator_message.h"
#include "protocol/node_report.h"

namespace hpc::coordinator {

// ---- a worker says
protocol::Hello FromProto(const v1::Hello& hello);
protocol::RankExit FromProto(const v1::RankExit& exit);
protocol::Prepared FromProto(const v1::Prepared& prepared);
EnvironmentRecord FromProto(const v1::Environment& environment);
// What it reports of itself and of its attempts; nullopt: the message is none of these.
std::optional<protocol::NodeReport> ReportOf(const v1::WorkerMessage& message);
// nullopt: the worker does not tell.
std::optional<NodeTimes> TimesOf(const v1::WorkerMessage& message);
protocol::StreamId FromProto(const v1::LogData& data);
protocol::StreamId FromProto(const v1::LogEnd& end);
// `now`: when the message arrived.
MetricReport FromProto(const v1::MetricData& data, absl::Time now);

// ---- a worker is told
v1::CoordinatorMessage ToProto(const protocol::CoordinatorMessage& message);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_
