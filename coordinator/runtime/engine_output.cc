// Output, metrics and facts of ranks. They may come after their attempt was replaced; the node only
// must have been part of it.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/runtime/engine_impl.h"

namespace hpc::coordinator {
namespace {

std::string OutputLost(const std::string& node, const protocol::StreamId& stream, int64_t bytes) {
  return absl::StrCat(HumanBytes(static_cast<uint64_t>(bytes)), " of the ",
                      stream.is_stderr ? "stderr" : "stdout", " of rank ", stream.rank, " on ",
                      node,
                      " is lost: it could not be kept there. Mostly that PC's disk is full: free "
                      "space on it");
}

// Whether the report tells of a checkpoint, and has not come before.
absl::StatusOr<bool> TellsOfCheckpoint(const MetricReport& report, MetricIntake* intake) {
  if (!report.checkpoint_saved) return false;
  HPC_ASSIGN_OR_RETURN(const auto known, intake->Offsets(report.offset.ref));
  const auto before = known.find(report.offset.rank);
  return before == known.end() || before->second < report.offset.offset;
}

}  // namespace

template <typename Take>
absl::Status Engine::Impl::Output(const Session& session, AttemptRef ref,
                                  std::optional<int32_t> rank, Take take) {
  const Now now = clock->Get();
  HPC_RETURN_IF_ERROR(Alive(session, now));
  const absl::Status placed = rank ? output.CheckRank(now.mono, session.node, ref, *rank)
                                   : output.CheckNode(now.mono, session.node, ref);
  if (absl::IsNotFound(placed)) return Forget(session, ref, placed);
  HPC_RETURN_IF_ERROR(placed);
  HPC_RETURN_IF_ERROR(take(now));
  if (!output_since && (log_intake.dirty() || metric_intake.dirty())) output_since = now.mono;
  return absl::OkStatus();
}

absl::Status Engine::OnEnvironment(const Session& session, const EnvironmentRecord& environment) {
  return impl_->Output(session, environment.ref, std::nullopt, [&](Now) {
    EnvironmentRecord& record = impl_->environments.emplace_back(environment);
    record.node = session.node;
    return absl::OkStatus();
  });
}

absl::Status Engine::OnLog(const Session& session, const protocol::StreamId& stream, int64_t offset,
                           absl::string_view data) {
  return impl_->Output(session, stream.ref, stream.rank, [&](Now now) {
    const absl::Status status =
        impl_->log_intake.Data(session.node, stream, offset, data, now.wall);
    if (!absl::IsOutOfRange(status)) impl_->FailUnlessItPasses(status);
    return status;
  });
}

absl::Status Engine::OnLogEnd(const Session& session, const protocol::StreamId& stream,
                              int64_t cut_bytes) {
  return impl_->Output(session, stream.ref, stream.rank, [&](Now now) {
    const absl::Status status = impl_->log_intake.End(session.node, stream, cut_bytes,
                                                      impl_->output.Awaits(stream.ref.run));
    impl_->FailUnlessItPasses(status);
    if (!status.ok() || !impl_->output.StreamEnded(stream) || cut_bytes <= 0) return status;
    impl_->cluster.Remark(now, event::kRankOutput, session.node, stream.ref, stream.rank,
                          OutputLost(session.node, stream, cut_bytes), &impl_->effects);
    return status;
  });
}

absl::Status Engine::OnMetrics(const Session& session, MetricReport report) {
  const AttemptRef ref = report.offset.ref;
  const int32_t rank = report.offset.rank;
  return impl_->Output(session, ref, rank, [&](Now now) {
    // After a reconnect the worker tells the end again, with its remarks.
    const bool told = report.ended && !impl_->output.MetricsEnded(ref, rank);
    for (const std::string& remark : report.remarks) {
      if (told) break;
      impl_->cluster.Remark(now, event::kRankMetrics, session.node, ref, rank, remark,
                            &impl_->effects);
    }
    MetricIntake& intake = impl_->metric_intake;
    HPC_ASSIGN_OR_RETURN(const bool saved, TellsOfCheckpoint(report, &intake));
    HPC_ASSIGN_OR_RETURN(const std::string cut,
                         intake.Add(session.node, report.offset, std::move(report.points),
                                    /*awaited=*/report.ended && impl_->output.Awaits(ref.run)));
    if (!cut.empty()) {
      impl_->cluster.Remark(now, event::kRankMetrics, session.node, ref, rank, cut,
                            &impl_->effects);
    }
    if (!saved) return absl::OkStatus();
    return impl_->cluster.Apply(now, session, protocol::CheckpointSaved{ref}, &impl_->effects);
  });
}

}  // namespace hpc::coordinator
