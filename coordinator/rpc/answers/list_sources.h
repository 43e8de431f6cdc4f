// Listings, page by page. A page is read when the one before has been taken; that of many pages is
// read while the one before is being sent.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_LIST_SOURCES_H_
#define HPC_COORDINATOR_RPC_ANSWERS_LIST_SOURCES_H_

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/pending_read.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/store_reader.h"
#include "hpc/v1/nodes.pb.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

class RunsSource final : public Source<v1::ListRunsResponse> {
 public:
  // `filter.limit` is the limit of the whole listing; 0: no limit.
  RunsSource(Engine* engine, const RunFilter& filter);
  void OnOpen(std::function<void()> wake) override { wake_ = std::move(wake); }
  absl::StatusOr<Step> Next(v1::ListRunsResponse* message) override;

 private:
  struct Page {
    v1::ListRunsResponse message;
    int64_t bytes = 0;
  };

  void ReadPage();
  // Takes note of what has been told, for the next page.
  void GoOnBehind(const v1::ListRunsResponse& message, int64_t bytes);
  bool Complete() const { return filter_.limit > 0 && told_ >= filter_.limit; }

  Engine* const engine_;
  RunFilter filter_;
  std::function<void()> wake_;
  int64_t rows_at_once_;
  int64_t told_ = 0;
  bool begun_ = false;
  v1::ListRunsResponse spare_;  // memory for the next page
  PendingRead<Page> page_;
};

class LogSource final : public Source<v1::LogPiece>, public Watcher {
 public:
  LogSource(Engine* engine, const v1::ReadLogRequest& request)
      : engine_(engine), request_(request) {}
  ~LogSource() override { engine_->Unwatch(this); }
  void OnOpen(std::function<void()> wake) override;
  absl::StatusOr<Step> Next(v1::LogPiece* message) override;
  void Poke() override { wake_(); }

 private:
  bool Wanted(const LogRecord& record) const;
  // Looks whether there is what is asked for, and in which files.
  void LookUp();
  // Where reading begins: at a file, since a file can be read without those before it.
  int64_t Begin(const std::vector<LogSegmentRecord>& files) const;

  Engine* const engine_;
  const v1::ReadLogRequest request_;
  std::optional<int64_t> position_;  // not known yet until the look-up is done
  PendingRead<std::vector<LogSegmentRecord>> files_;
  std::deque<LogRecord> records_;
  std::function<void()> wake_;
};

class MetricsSource final : public Source<v1::ListMetricsResponse> {
 public:
  MetricsSource(Engine* engine, const MetricFilter& filter) : engine_(engine), filter_(filter) {}
  void OnOpen(std::function<void()> wake) override { wake_ = std::move(wake); }
  absl::StatusOr<Step> Next(v1::ListMetricsResponse* message) override;

 private:
  void ReadPage();

  Engine* const engine_;
  MetricFilter filter_;
  std::function<void()> wake_;
  v1::ListMetricsResponse spare_;  // memory for the next page
  PendingRead<v1::ListMetricsResponse> page_;
};

class EventsSource final : public Source<v1::ListEventsResponse>, public Watcher {
 public:
  EventsSource(Engine* engine, const v1::ListEventsRequest& request, SecurityEvents security);
  ~EventsSource() override { engine_->Unwatch(this); }
  void OnOpen(std::function<void()> wake) override;
  absl::StatusOr<Step> Next(v1::ListEventsResponse* message) override;
  void Poke() override;

 private:
  Engine* const engine_;
  EventFilter filter_;
  const bool follow_;
  bool look_ = true;  // there may be something new to read
  std::function<void()> wake_;
  PendingRead<v1::ListEventsResponse> page_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_LIST_SOURCES_H_
