// Sends to the coordinator what ranks log (HPC_METRICS_FILE). Every complete line is sent once,
// whatever happens to the connection.
#ifndef HPC_WORKER_SHIPPING_METRIC_SHIPPER_H_
#define HPC_WORKER_SHIPPING_METRIC_SHIPPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "protocol/worker_message.h"
#include "worker/shipping/metrics_reader.h"

namespace hpc::worker {

// A line that is not metrics is dropped. The user is told of the first one, and of how many there
// were. The same goes for a file that is cut or replaced.
class MetricShipper {
 public:
  // The limit on bytes of one file that are sent and not yet acknowledged.
  static constexpr int64_t kWindowBytes = 1 << 20;
  // The coordinator keeps no more than this of a whole run. Beyond it a file is not read.
  static constexpr int64_t kMaxFileBytes = 1 << 30;

  explicit MetricShipper(std::function<void(protocol::WorkerMessage)> send)
      : send_(std::move(send)) {}

  // See LogShipper::Add. `record_dir` is a folder in which no rank can write.
  void Add(AttemptRef ref, const std::string& ranks_dir, const std::string& record_dir,
           const std::vector<int32_t>& ranks, bool known);
  void Remove(AttemptRef ref);

  // No process is left, so a last line without its end counts, too.
  void OnReturned(AttemptRef ref);
  void OnConnected();
  void OnAck(const protocol::MetricAck& ack);

  // Looks for new lines in every file, or in those of one attempt. This notes when they were
  // written.
  void Look(absl::Time now, std::optional<AttemptRef> only);
  // The same, and also sends what the windows allow.
  void Pump(absl::Time now, std::optional<AttemptRef> only);

  // Everything is acknowledged, and nothing more can come.
  bool Done(AttemptRef ref) const;
  int64_t AcknowledgedBytes(AttemptRef ref) const;

 private:
  // A message for the user, kept until the coordinator has it.
  struct Remark {
    std::string text;
    int64_t sent_with = -1;  // offset where the message that carried it ends; -1: not sent
  };
  struct File {
    File(const std::string& path, const std::string& base_file, bool known)
        : reader(path, base_file, known) {}
    MetricsReader reader;
    bool waiting = false;  // waits for the coordinator to say where to go on
    int64_t acked = 0;
    int64_t resumed_at = 0;  // nothing before this offset is on its way
    int64_t judged = 0;      // offset up to which bad lines have been counted
    int64_t bad_lines = 0;
    int64_t breaks = 0;  // how often the file was cut or replaced
    std::vector<Remark> remarks;
    bool ended = false;
    bool full = false;  // the file was read up to kMaxFileBytes
    bool drained = false;
  };
  using Key = std::pair<AttemptRef, int32_t>;
  using Files = std::map<Key, File>;

  // The files of one attempt; all files if `only` is not set.
  std::pair<Files::iterator, Files::iterator> FilesOf(std::optional<AttemptRef> only);
  bool SendPiece(const Key& key, absl::Time now, File* file);
  static void AddSummary(const File& file, std::vector<std::string>* remarks);
  static void TakeLine(const MetricsReader::Line& line, absl::Time now, const Key& key, File* file,
                       protocol::MetricData* data);
  static void TakeRemark(const Key& key, File* file);
  static void Complain(const Key& key, const std::string& text, File* file);

  std::function<void(protocol::WorkerMessage)> send_;
  Files files_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SHIPPING_METRIC_SHIPPER_H_
