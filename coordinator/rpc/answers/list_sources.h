// Listings, page by page. Each message is read when the one before has been taken.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_LIST_SOURCES_H_
#define HPC_COORDINATOR_RPC_ANSWERS_LIST_SOURCES_H_

#include <deque>
#include <functional>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/store.h"
#include "hpc/v1/nodes.pb.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

class RunsSource final : public Source<v1::ListRunsResponse> {
 public:
  // `filter.limit` is the limit of the whole listing; 0: no limit.
  RunsSource(Engine* engine, const RunFilter& filter);
  absl::StatusOr<Step> Next(v1::ListRunsResponse* message) override;

 private:
  Engine* const engine_;
  RunFilter filter_;
  int64_t rows_at_once_;
  int64_t told_ = 0;
  bool begun_ = false;
};

class LogSource final : public Source<v1::LogPiece>, public Watcher {
 public:
  LogSource(Engine* engine, const v1::ReadLogRequest& request)
      : engine_(engine), request_(request), position_(request.position()) {}
  ~LogSource() override { engine_->Unwatch(this); }
  void OnOpen(std::function<void()> wake) override;
  absl::StatusOr<Step> Next(v1::LogPiece* message) override;
  void Poke() override { wake_(); }

 private:
  bool Wanted(const LogRecord& record) const;

  Engine* const engine_;
  const v1::ReadLogRequest request_;
  int64_t position_;
  std::deque<LogRecord> records_;
  std::function<void()> wake_;
};

class MetricsSource final : public Source<v1::ListMetricsResponse> {
 public:
  MetricsSource(Engine* engine, const MetricFilter& filter) : engine_(engine), filter_(filter) {}
  absl::StatusOr<Step> Next(v1::ListMetricsResponse* message) override;

 private:
  Engine* const engine_;
  MetricFilter filter_;
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
  bool look_ = true;
  std::function<void()> wake_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_LIST_SOURCES_H_
