// Sends what ranks log (HPC_METRICS_FILE) to the coordinator: every complete line once, whatever
// happens to the connection.
#ifndef HPC_WORKER_RUNTIME_METRIC_SHIPPER_H_
#define HPC_WORKER_RUNTIME_METRIC_SHIPPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "worker/core/messages.h"

namespace hpc::worker {

class MetricShipper {
 public:
  // A longer line is dropped with a warning.
  static constexpr int64_t kMaxLineBytes = 64 << 10;
  static constexpr int64_t kPieceBytes = 256 << 10;
  // Of one file, sent and not yet acknowledged.
  static constexpr int64_t kWindowBytes = 1 << 20;

  explicit MetricShipper(std::function<void(WorkerMessage)> send) : send_(std::move(send)) {}

  // As LogShipper::Add.
  void Add(AttemptRef ref, const std::string& attempt_dir, const std::vector<int32_t>& ranks,
           bool known);
  void Remove(AttemptRef ref);

  // No process is left: a last line without its end counts too.
  void OnReturned(AttemptRef ref);
  void OnConnected();
  void OnAck(const MetricAck& ack);

  // Looks at every file for new lines and sends what the windows allow. `now` is the time of lines
  // that have none.
  void Pump(absl::Time now);

  // Everything is acknowledged and nothing can come any more.
  bool Done(AttemptRef ref) const;
  int64_t AcknowledgedBytes(AttemptRef ref) const;

 private:
  struct File {
    std::string path;
    UniqueFd file;
    bool waiting = false;
    int64_t sent = 0;
    int64_t acked = 0;
    int64_t line = 0;  // number of the line at `sent`, from 0; the step of lines that name none
    bool skipping = false;  // in a line that is too long
    bool ended = false;
    bool drained = false;
    int64_t bad_lines = 0;
  };
  using Key = std::pair<AttemptRef, int32_t>;

  bool SendPiece(const Key& key, absl::Time now, File* file);
  void TakeLine(const Key& key, absl::string_view line, absl::Time now, File* file,
                std::vector<MetricPoint>* points) const;
  static void WarnOnce(const Key& key, absl::string_view problem, File* file);
  static int64_t CountLines(const File& file, int64_t end);

  std::function<void(WorkerMessage)> send_;
  std::map<Key, File> files_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_METRIC_SHIPPER_H_
