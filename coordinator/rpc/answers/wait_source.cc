#include "coordinator/rpc/answers/wait_source.h"

#include <functional>
#include <utility>

#include "common/status_macros.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/convert/convert_run.h"
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
  if (over_.idle()) LookAtMoved();
  if (over_.ready()) {
    HPC_RETURN_IF_ERROR(TakeOver(message));
    if (message->over_size() > 0) return Step::kMessage;
    if (!moved_.empty()) LookAtMoved();
  }
  if (!over_.idle()) return Step::kWait;
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

void WaitSource::LookAtMoved() {
  std::vector<RunId> gone;
  for (const RunId run : std::exchange(moved_, {})) {
    if (left_.count(run) > 0 && LiveRun(*engine_, run) == nullptr) gone.push_back(run);
  }
  if (gone.empty()) return;
  over_.Start(engine_, std::bind_front(&ReadOver, std::move(gone), !all_exist_), wake_);
}

absl::StatusOr<WaitSource::Over> WaitSource::ReadOver(const std::vector<RunId>& runs, bool all,
                                                      StoreReader& reader) {
  Over over;
  size_t bytes = 0;
  for (const RunId run : runs) {
    const bool full = over.message.over_size() == kRowsPerMessage || bytes >= kBytesPerMessage;
    if (full) over.rest.push_back(run);
    if (full && !all) continue;
    HPC_ASSIGN_OR_RETURN(const RunRow row, FindRunRow(reader, run));
    if (full || !IsTerminal(row.record.state)) continue;
    v1::Run* const told = over.message.add_over();
    ToProto(row.record, row.extras, told);
    bytes += told->ByteSizeLong();
  }
  return over;
}

absl::Status WaitSource::TakeOver(v1::WaitResponse* message) {
  HPC_ASSIGN_OR_RETURN(Over over, over_.Take());
  all_exist_ = true;
  *message = std::move(over.message);
  moved_.insert(over.rest.begin(), over.rest.end());
  for (const v1::Run& run : message->over()) {
    const auto waited = left_.find(run.id());
    engine_->Unwatch(&waited->second);
    left_.erase(waited);
  }
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
