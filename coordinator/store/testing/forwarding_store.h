// A store that hands every call on to another one, for tests that change one of the calls. Tests
// only.
#ifndef HPC_COORDINATOR_STORE_TESTING_FORWARDING_STORE_H_
#define HPC_COORDINATOR_STORE_TESTING_FORWARDING_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "coordinator/store/store.h"
#include "coordinator/store/store_reader.h"

namespace hpc::coordinator::testing {

class ForwardingStore : public Store {
 public:
  // `real` must outlive this.
  explicit ForwardingStore(Store* real) : real_(*real) {}

  absl::StatusOr<std::unique_ptr<StoreReader>> OpenReader() override { return real_.OpenReader(); }
  absl::StatusOr<Snapshot> Load() override { return real_.Load(); }
  absl::StatusOr<std::optional<ClockReading>> LoadClock() override { return real_.LoadClock(); }
  absl::StatusOr<TrustSnapshot> LoadTrust() override { return real_.LoadTrust(); }
  absl::Status Commit(const WriteBatch& batch) override { return real_.Commit(batch); }
  absl::StatusOr<RunDetail> GetRun(RunId run) override { return real_.GetRun(run); }
  absl::StatusOr<RunProgram> GetProgram(RunId run) override { return real_.GetProgram(run); }
  absl::StatusOr<RunRecord> GetRunRecord(RunId run) override { return real_.GetRunRecord(run); }
  absl::StatusOr<std::vector<RunId>> RunsAwaitingOutput(absl::Time since) override {
    return real_.RunsAwaitingOutput(since);
  }
  absl::StatusOr<RunId> FindRequest(const std::string& id) override {
    return real_.FindRequest(id);
  }
  absl::StatusOr<std::vector<std::string>> MetricKeys(RunId run) override {
    return real_.MetricKeys(run);
  }
  absl::StatusOr<std::vector<MetricOffset>> MetricOffsets(RunId run) override {
    return real_.MetricOffsets(run);
  }

 private:
  Store& real_;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_STORE_TESTING_FORWARDING_STORE_H_
