#include "coordinator/rpc/answers/list_sources.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_node.h"
#include "coordinator/rpc/convert/convert_run.h"
#include "coordinator/rpc/convert/limits.h"

namespace hpc::coordinator {
namespace {

constexpr int64_t kLogBytesAtOnce = 256 << 10;
// With results a row can be many times as long as a row of a plain listing.
constexpr int64_t kFirstResults = 100;

}  // namespace

RunsSource::RunsSource(Engine* engine, const RunFilter& filter)
    : engine_(engine),
      filter_(filter),
      rows_at_once_(filter.parts.results ? kFirstResults : kRowsPerMessage) {}

// The first message is sent even if it is empty, since it carries the coordinator's time.
absl::StatusOr<Step> RunsSource::Next(v1::ListRunsResponse* message) {
  engine_->CommitNow();
  RunFilter page = filter_;
  page.limit = rows_at_once_;
  if (filter_.limit > 0) page.limit = std::min(page.limit, filter_.limit - told_);
  RunPage runs;
  if (page.limit > 0) {
    HPC_ASSIGN_OR_RETURN(runs, ReadRuns(*engine_, page));
  }
  if (runs.records.empty() && begun_) return Step::kEnd;
  begun_ = true;
  const Now now = engine_->now();
  message->set_now_us(ToMicros(now.wall));
  size_t bytes = 0;
  for (size_t i = 0; i < runs.records.size(); ++i) {
    v1::Run* const run = message->add_runs();
    ShowRun(*engine_, now, *runs.records[i], runs.extras[i], run);
    filter_.before = runs.records[i]->id;
    ++told_;
    bytes += run->ByteSizeLong();
    if (bytes >= kBytesPerMessage) break;
  }
  if (bytes >= kBytesPerMessage) {
    rows_at_once_ = message->runs_size();
  } else if (2 * bytes < kBytesPerMessage) {
    rows_at_once_ = std::min(2 * rows_at_once_, kRowsPerMessage);
  }
  return Step::kMessage;
}

void LogSource::OnOpen(std::function<void()> wake) {
  wake_ = std::move(wake);
  engine_->WatchRun(request_.run(), this);
}

bool LogSource::Wanted(const LogRecord& record) const {
  if (!record.missing.empty()) return true;
  return (!request_.has_rank() || request_.rank() == record.stream.rank) &&
         (!request_.has_attempt() || request_.attempt() == record.stream.ref.number);
}

absl::StatusOr<Step> LogSource::Next(v1::LogPiece* message) {
  while (true) {
    if (records_.empty()) {
      HPC_ASSIGN_OR_RETURN(std::vector<LogRecord> records,
                           engine_->logs().Read(request_.run(), position_, kLogBytesAtOnce));
      if (records.empty()) {
        const bool over = !engine_->cluster().FindRun(request_.run());
        return over && !engine_->OutputComplete(request_.run()) ? Step::kWait : Step::kEnd;
      }
      records_.assign(std::make_move_iterator(records.begin()),
                      std::make_move_iterator(records.end()));
    }
    LogRecord record = std::move(records_.front());
    records_.pop_front();
    position_ = record.next_position;
    if (!Wanted(record)) continue;
    *message = ToProto(std::move(record));
    return Step::kMessage;
  }
}

absl::StatusOr<Step> MetricsSource::Next(v1::ListMetricsResponse* message) {
  filter_.limit = kRowsPerMessage;
  HPC_ASSIGN_OR_RETURN(const std::vector<MetricRow> rows, engine_->store().ListMetrics(filter_));
  if (rows.empty()) return Step::kEnd;
  for (const MetricRow& row : rows) *message->add_points() = ToProto(row);
  filter_.after_row = rows.back().row;
  return Step::kMessage;
}

EventsSource::EventsSource(Engine* engine, const v1::ListEventsRequest& request,
                           SecurityEvents security)
    : engine_(engine), follow_(request.follow()) {
  filter_.after = request.after();
  filter_.run = request.run();
  filter_.node = request.node();
  filter_.security = security;
  filter_.newest = request.newest() > 0;
  filter_.limit = filter_.newest ? request.newest() : kRowsPerMessage;
}

void EventsSource::OnOpen(std::function<void()> wake) {
  wake_ = std::move(wake);
  if (follow_) engine_->WatchEvents(this);
}

void EventsSource::Poke() {
  look_ = true;
  wake_();
}

absl::StatusOr<Step> EventsSource::Next(v1::ListEventsResponse* message) {
  if (look_) {
    HPC_ASSIGN_OR_RETURN(const std::vector<EventRecord> events,
                         engine_->store().ListEvents(filter_));
    filter_.newest = false;
    filter_.limit = kRowsPerMessage;
    for (const EventRecord& event : events) *message->add_events() = ToProto(event);
    if (!events.empty()) filter_.after = events.back().id;
    look_ = !events.empty();
    if (!events.empty()) return Step::kMessage;
  }
  return follow_ ? Step::kWait : Step::kEnd;
}

}  // namespace hpc::coordinator
