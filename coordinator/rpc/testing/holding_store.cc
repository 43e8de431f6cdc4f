#include "coordinator/rpc/testing/holding_store.h"

#include <utility>
#include <vector>

#include "common/status_macros.h"

namespace hpc::coordinator::testing {
namespace {

class HoldingReader final : public StoreReader {
 public:
  HoldingReader(std::unique_ptr<StoreReader> real, Barrier* barrier)
      : real_(std::move(real)), barrier_(barrier) {}

  absl::StatusOr<std::vector<MetricRow>> ListMetrics(const MetricFilter& filter) override {
    barrier_->Pass();
    return real_->ListMetrics(filter);
  }

  absl::Status InSnapshot(absl::FunctionRef<absl::Status()> body) override {
    return real_->InSnapshot(body);
  }
  absl::StatusOr<RunDetail> GetRun(RunId run) override { return real_->GetRun(run); }
  absl::StatusOr<std::vector<RunRow>> ListRuns(const RunFilter& filter) override {
    return real_->ListRuns(filter);
  }
  absl::Status DescribeRuns(RunParts parts, std::vector<RunExtras>* runs) override {
    return real_->DescribeRuns(parts, runs);
  }
  absl::StatusOr<std::vector<ExperimentRow>> ListExperiments() override {
    return real_->ListExperiments();
  }
  absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventFilter& filter) override {
    return real_->ListEvents(filter);
  }
  absl::StatusOr<std::vector<MetricSummary>> SummarizeMetrics(RunId run) override {
    return real_->SummarizeMetrics(run);
  }
  absl::StatusOr<std::vector<LogSegmentRecord>> LogSegments(RunId run) override {
    return real_->LogSegments(run);
  }

 private:
  const std::unique_ptr<StoreReader> real_;
  Barrier* const barrier_;
};

}  // namespace

void Barrier::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

void Barrier::Open() {
  absl::MutexLock lock(&mutex_);
  closed_ = false;
}

void Barrier::Pass() {
  absl::MutexLock lock(&mutex_);
  ++waiting_;
  mutex_.Await(absl::Condition(this, &Barrier::IsOpen));
  --waiting_;
}

void Barrier::AwaitSomebody() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &Barrier::IsAwaited));
}

absl::StatusOr<std::unique_ptr<StoreReader>> HoldingStore::OpenReader() {
  HPC_ASSIGN_OR_RETURN(std::unique_ptr<StoreReader> reader, ForwardingStore::OpenReader());
  return std::make_unique<HoldingReader>(std::move(reader), &barrier_);
}

}  // namespace hpc::coordinator::testing
