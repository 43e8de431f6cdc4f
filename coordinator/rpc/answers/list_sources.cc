#include "coordinator/rpc/answers/list_sources.h"

#include <algorithm>
#include <functional>
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

absl::StatusOr<v1::ListEventsResponse> ReadEvents(const EventFilter& filter, StoreReader& reader) {
  if (filter.run != 0) HPC_RETURN_IF_ERROR(FindRunRow(reader, filter.run).status());
  HPC_ASSIGN_OR_RETURN(const std::vector<EventRecord> events, reader.ListEvents(filter));
  v1::ListEventsResponse page;
  for (const EventRecord& event : events) *page.add_events() = ToProto(event);
  return page;
}

}  // namespace

RunsSource::RunsSource(Engine* engine, const RunFilter& filter)
    : engine_(engine),
      filter_(filter),
      rows_at_once_(filter.parts.results ? kFirstResults : kRowsPerMessage) {}

void RunsSource::ReadPage() {
  RunFilter filter = filter_;
  filter.limit = rows_at_once_;
  if (filter_.limit > 0) filter.limit = std::min(filter.limit, filter_.limit - told_);
  spare_.Clear();
  AddLiveRuns(*engine_, filter, &spare_);
  page_.Start(
      engine_,
      [filter,
       page = Page{std::move(spare_)}](StoreReader& reader) mutable -> absl::StatusOr<Page> {
        HPC_ASSIGN_OR_RETURN(page.bytes, ReadRuns(reader, filter, &page.message));
        return std::move(page);
      },
      wake_);
}

// The first message is sent even if it is empty, since it carries the coordinator's time.
absl::StatusOr<Step> RunsSource::Next(v1::ListRunsResponse* message) {
  if (Complete()) return Step::kEnd;
  if (page_.idle()) ReadPage();
  if (!page_.ready()) return Step::kWait;
  HPC_ASSIGN_OR_RETURN(Page page, page_.Take());
  message->Swap(&page.message);
  spare_ = std::move(page.message);
  if (message->runs().empty() && begun_) return Step::kEnd;
  begun_ = true;
  message->set_now_us(ToMicros(engine_->now().wall));
  if (filter_.tag.has_value()) {
    for (v1::Run& run : *message->mutable_runs()) ShowWait(*engine_, &run);
  }
  GoOnBehind(*message, page.bytes);
  if (!message->runs().empty() && !Complete()) ReadPage();
  return Step::kMessage;
}

void RunsSource::GoOnBehind(const v1::ListRunsResponse& message, int64_t bytes) {
  if (message.runs().empty()) return;
  filter_.before = message.runs().rbegin()->id();
  told_ += message.runs_size();
  if (bytes >= kBytesPerMessage) {
    rows_at_once_ = message.runs_size();
  } else if (2 * bytes < kBytesPerMessage) {
    rows_at_once_ = std::min(2 * rows_at_once_, kRowsPerMessage);
  }
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

void LogSource::LookUp() {
  files_.Start(
      engine_,
      [request = request_](StoreReader& reader) -> absl::StatusOr<std::vector<LogSegmentRecord>> {
        HPC_RETURN_IF_ERROR(FindRunRow(reader, request.run()).status());
        if (request.has_rank() || request.has_attempt()) {
          HPC_ASSIGN_OR_RETURN(const RunDetail detail, reader.GetRun(request.run()));
          HPC_RETURN_IF_ERROR(CheckOutputOf(
              detail, request.has_attempt() ? std::make_optional(request.attempt()) : std::nullopt,
              request.has_rank() ? std::make_optional(request.rank()) : std::nullopt));
        }
        return reader.LogSegments(request.run());
      },
      wake_);
}

int64_t LogSource::Begin(const std::vector<LogSegmentRecord>& files) const {
  if (request_.last_bytes() == 0) return request_.position();
  const int64_t wanted = engine_->logs().EndPosition(request_.run()) - request_.last_bytes();
  int64_t position = 0;
  for (const LogSegmentRecord& file : files) {
    if (file.first_position <= wanted) position = file.first_position;
  }
  return position;
}

absl::StatusOr<Step> LogSource::Next(v1::LogPiece* message) {
  if (!position_) {
    if (files_.idle()) LookUp();
    if (!files_.ready()) return Step::kWait;
    HPC_ASSIGN_OR_RETURN(const std::vector<LogSegmentRecord> files, files_.Take());
    position_ = Begin(files);
  }
  while (true) {
    if (records_.empty()) {
      HPC_ASSIGN_OR_RETURN(std::vector<LogRecord> records,
                           engine_->logs().Read(request_.run(), *position_, kLogBytesAtOnce));
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

void MetricsSource::ReadPage() {
  filter_.limit = kRowsPerMessage;
  spare_.Clear();
  page_.Start(
      engine_,
      [filter = filter_, page = std::move(spare_)](
          StoreReader& reader) mutable -> absl::StatusOr<v1::ListMetricsResponse> {
        HPC_RETURN_IF_ERROR(FindRunRow(reader, filter.run).status());
        HPC_ASSIGN_OR_RETURN(const std::vector<MetricRow> rows, reader.ListMetrics(filter));
        for (const MetricRow& row : rows) *page.add_points() = ToProto(row);
        return std::move(page);
      },
      wake_);
}

absl::StatusOr<Step> MetricsSource::Next(v1::ListMetricsResponse* message) {
  if (page_.idle()) ReadPage();
  if (!page_.ready()) return Step::kWait;
  HPC_ASSIGN_OR_RETURN(v1::ListMetricsResponse page, page_.Take());
  message->Swap(&page);
  spare_ = std::move(page);
  if (message->points().empty()) return Step::kEnd;
  filter_.after_row = message->points().rbegin()->row();
  ReadPage();
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
  if (page_.idle()) {
    if (!look_) return follow_ ? Step::kWait : Step::kEnd;
    look_ = false;
    page_.Start(engine_, std::bind_front(&ReadEvents, filter_), wake_);
  }
  if (!page_.ready()) return Step::kWait;
  HPC_ASSIGN_OR_RETURN(*message, page_.Take());
  filter_.newest = false;
  filter_.limit = kRowsPerMessage;
  if (message->events().empty()) return Next(message);
  filter_.after = message->events().rbegin()->id();
  look_ = true;
  return Step::kMessage;
}

}  // namespace hpc::coordinator
