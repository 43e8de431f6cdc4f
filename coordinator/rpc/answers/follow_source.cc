#include "coordinator/rpc/answers/follow_source.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/convert/convert_run.h"

namespace hpc::coordinator {
namespace {

constexpr int64_t kEventsAtOnce = 100;
constexpr int64_t kOutputAtOnce = 256 << 10;

bool IsOver(v1::RunState state) { return IsTerminal(static_cast<RunState>(state)); }

}  // namespace

FollowSource::FollowSource(Engine* engine, const v1::FollowRequest& request)
    : engine_(engine),
      run_(request.run()),
      with_output_(request.with_output()),
      event_(request.after_event()),
      position_(request.log_position()) {}

void FollowSource::OnOpen(std::function<void()> wake) {
  wake_ = std::move(wake);
  engine_->WatchRun(run_, this);
}

void FollowSource::Poke() {
  look_for_events_ = look_for_output_ = true;
  wake_();
}

void FollowSource::PokeProgress() {
  look_for_progress_ = true;
  wake_();
}

absl::StatusOr<Step> FollowSource::Next(v1::FollowResponse* message) {
  if (news_.idle() && events_.empty() && look_for_events_) ReadNews();
  if (news_.ready()) HPC_RETURN_IF_ERROR(TakeNews());
  if (!news_.idle()) return Step::kWait;
  if (NextState(message) || NextProgress(message)) return Step::kMessage;
  if (with_output_) {
    HPC_ASSIGN_OR_RETURN(const bool output, NextOutput(message));
    if (output) return Step::kMessage;
  }
  const bool over = IsOver(state_.state());
  return over && (!with_output_ || engine_->OutputComplete(run_)) ? Step::kEnd : Step::kWait;
}

void FollowSource::ReadNews() {
  look_for_events_ = false;
  EventFilter filter;
  filter.after = event_;
  filter.run = run_;
  filter.limit = kEventsAtOnce;
  const auto read = [filter](StoreReader& reader) -> absl::StatusOr<News> {
    HPC_ASSIGN_OR_RETURN(const RunRow row, FindRunRow(reader, filter.run));
    News news;
    ToProto(row.record, row.extras, &news.state);
    HPC_ASSIGN_OR_RETURN(news.events, reader.ListEvents(filter));
    return news;
  };
  news_.Start(engine_, read, wake_);
}

absl::Status FollowSource::TakeNews() {
  HPC_ASSIGN_OR_RETURN(News news, news_.Take());
  look_for_events_ |= static_cast<int64_t>(news.events.size()) == kEventsAtOnce;
  events_.assign(std::make_move_iterator(news.events.begin()),
                 std::make_move_iterator(news.events.end()));
  state_ = std::move(news.state);
  ShowWait(*engine_, &state_);
  // Progress is told together with the state. Otherwise it could tell what the run waited for in an
  // earlier state.
  progress_ = Progress(*engine_, state_).value_or("");
  return absl::OkStatus();
}

bool FollowSource::NextState(v1::FollowResponse* message) {
  if (events_.empty() && told_) return false;
  if (!events_.empty()) {
    const EventRecord& event = events_.front();
    event_ = event.id;
    v1::RunUpdate* update = message->mutable_state();
    update->set_event_text(event.text);
    update->set_event_kind(event.kind);
    update->set_event_attempt(event.attempt);
    update->set_event_age_us(absl::ToInt64Microseconds(engine_->now().wall - event.at));
    events_.pop_front();
  }
  FillState(message);
  told_ = true;
  return true;
}

bool FollowSource::NextProgress(v1::FollowResponse* message) {
  if (!std::exchange(look_for_progress_, false)) return false;
  std::optional<std::string> progress = Progress(*engine_, state_);
  if (!progress || *progress == progress_) return false;
  progress_ = *std::move(progress);
  FillState(message);
  return true;
}

void FollowSource::FillState(v1::FollowResponse* message) const {
  v1::RunUpdate* update = message->mutable_state();
  update->set_event(event_);
  *update->mutable_run() = state_;
  update->set_progress(progress_);
}

absl::StatusOr<bool> FollowSource::NextOutput(v1::FollowResponse* message) {
  if (output_.empty() && look_for_output_) {
    HPC_ASSIGN_OR_RETURN(std::vector<LogRecord> records,
                         engine_->logs().Read(run_, position_, kOutputAtOnce));
    look_for_output_ = !records.empty();
    output_.assign(std::make_move_iterator(records.begin()),
                   std::make_move_iterator(records.end()));
  }
  if (output_.empty()) return false;
  position_ = output_.front().next_position;
  *message->mutable_output() = ToProto(std::move(output_.front()));
  output_.pop_front();
  return true;
}

}  // namespace hpc::coordinator
