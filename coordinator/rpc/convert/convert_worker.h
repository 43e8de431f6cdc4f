// Converts what workers say, and what they are told, between the wire and plain values.
#ifndef HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_
#define HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_

#include <optional>
#include <vector>

#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/reports.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/store.h"
#include "hpc/v1/worker.pb.h"

namespace hpc::coordinator {

// ---- a worker says
NodeHello FromProto(const v1::Hello& hello);
RankExit FromProto(const v1::RankExit& exit);
ReclaimRequest FromProto(const v1::OwnerChanged& change);
PreparedReport FromProto(const v1::Prepared& prepared);
EnvironmentRecord FromProto(const v1::Environment& environment);
std::vector<StartedRank> FromProto(const v1::Started& started);
std::vector<RankDoing> FromProto(const v1::Heartbeat& heartbeat);
Halt FromProto(const v1::AttemptHalted& halted);
Halt FromProto(const v1::AttemptReturned& returned);
RankAges FromProto(const v1::RankEnded& ended);
// nullopt: the worker does not tell.
std::optional<NodeTimes> TimesOf(const v1::WorkerMessage& message);
RendezvousReport FromProto(const v1::Rendezvous& rendezvous);
LogStreamId FromProto(const v1::LogData& data);
LogStreamId FromProto(const v1::LogEnd& end);
// `now`: when the message arrived.
MetricReport FromProto(const v1::MetricData& data, absl::Time now);

// ---- a worker is told
v1::CoordinatorMessage ToProto(const Welcome& welcome);
v1::CoordinatorMessage ToProto(const PrepareAttempt& prepare, const RunRecord& run,
                               const RunProgram& program);
// Converts any command but PrepareAttempt, which needs the program.
v1::CoordinatorMessage ToProto(const NodeCommand& command);
v1::CoordinatorMessage Heard(int64_t sent_us);
v1::CoordinatorMessage LogAck(const LogStreamId& stream, int64_t offset);
v1::CoordinatorMessage MetricAck(const MetricOffset& offset);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_CONVERT_WORKER_H_
