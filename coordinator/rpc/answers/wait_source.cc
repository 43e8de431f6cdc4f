#include "coordinator/rpc/answers/wait_source.h"

#include <utility>

#include "common/status_macros.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/convert/limits.h"

namespace hpc::coordinator {
namespace {

// How long a run must have been the oldest one left before clients are told about it.
constexpr absl::Duration kLasts = absl::Milliseconds(500);

}  // namespace

WaitSource::WaitSource(Engine* engine, const v1::WaitRequest& request)
    : engine_(engine), after_event_(request.after_event()) {
  for (const RunId run : request.runs()) {
    left_.try_emplace(run, this, run);
    moved_.insert(run);
  }
}

WaitSource::~WaitSource() {
  for (auto& [run, waited] : left_) engine_->Unwatch(&waited);
}

void WaitSource::OnOpen(std::function<void()> wake) {
  wake_ = std::move(wake);
  for (auto& [run, waited] : left_) engine_->WatchRun(run, &waited);
}

void WaitSource::OnMove(RunId run) {
  moved_.insert(run);
  wake_();
}

void WaitSource::OnProgress(RunId run) {
  if (run != oldest_ || follow_ || engine_->now().mono < oldest_since_ + kLasts) return;
  FollowOldest();
  wake_();
}

absl::StatusOr<Step> WaitSource::Next(v1::WaitResponse* message) {
  HPC_RETURN_IF_ERROR(TakeOver(message));
  if (message->over_size() > 0) return Step::kMessage;
  if (left_.empty()) return Step::kEnd;
  const RunId oldest = left_.begin()->first;
  if (const RunId before = std::exchange(oldest_, oldest); before != oldest) {
    follow_.reset();
    oldest_since_ = engine_->now().mono;
    if (before == 0) FollowOldest();
  }
  HPC_ASSIGN_OR_RETURN(const bool told, NextOfOldest(message));
  return told ? Step::kMessage : Step::kWait;
}

absl::Status WaitSource::TakeOver(v1::WaitResponse* message) {
  size_t bytes = 0;
  while (!moved_.empty() && message->over_size() < kRowsPerMessage && bytes < kBytesPerMessage) {
    const int before = message->over_size();
    HPC_RETURN_IF_ERROR(TakeOver(moved_.extract(moved_.begin()).value(), message));
    if (message->over_size() > before) bytes += message->over(before).ByteSizeLong();
  }
  return absl::OkStatus();
}

absl::Status WaitSource::TakeOver(RunId run, v1::WaitResponse* message) {
  const auto waited = left_.find(run);
  if (waited == left_.end() || engine_->cluster().FindRun(run)) return absl::OkStatus();
  HPC_ASSIGN_OR_RETURN(const RunRow row, FindRunRow(engine_->store(), run));
  // The end of the run may not be on disk yet. In that case the run will move once more.
  if (!IsTerminal(row.record.state)) return absl::OkStatus();
  ShowRun(*engine_, engine_->now(), row.record, row.extras, message->add_over());
  engine_->Unwatch(&waited->second);
  left_.erase(waited);
  return absl::OkStatus();
}

void WaitSource::FollowOldest() {
  v1::FollowRequest request;
  request.set_run(oldest_);
  request.set_after_event(after_event_);
  follow_.emplace(engine_, request);
  follow_->OnOpen(wake_);
}

absl::StatusOr<bool> WaitSource::NextOfOldest(v1::WaitResponse* message) {
  if (!follow_) return false;
  v1::FollowResponse response;
  HPC_ASSIGN_OR_RETURN(const Step step, follow_->Next(&response));
  if (step != Step::kMessage) return false;
  *message->mutable_left() = std::move(*response.mutable_state());
  return true;
}

}  // namespace hpc::coordinator
