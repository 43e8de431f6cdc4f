// Sends what ranks write to the coordinator: every byte once, in order, whatever happens to the
// connection, and never so much at once that other messages wait.
#ifndef HPC_WORKER_OUTPUT_LOG_SHIPPER_H_
#define HPC_WORKER_OUTPUT_LOG_SHIPPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "worker/core/messages.h"

namespace hpc::worker {

class LogShipper {
 public:
  static constexpr int64_t kPieceBytes = 256 << 10;
  // Sent and not yet acknowledged, over all streams.
  static constexpr int64_t kWindowBytes = 4 << 20;
  // A line that is being written waits this long for its end, so that what else is shown at the
  // time does not land inside it; a prompt or a progress bar is seen after that.
  static constexpr absl::Duration kLinePatience = absl::Milliseconds(50);
  // A stream that could not be opened for want of descriptors is tried again after this.
  static constexpr absl::Duration kDescriptorPatience = absl::Seconds(1);

  explicit LogShipper(std::function<void(WorkerMessage)> send)
      : send_(std::move(send)), buffer_(kPieceBytes) {}

  // `known`: the coordinator may have some of it already and says so first (an attempt that was
  // named in a hello). Else its streams begin at 0 at once.
  void Add(AttemptRef ref, const std::string& attempt_dir, const std::vector<int32_t>& ranks,
           bool known);
  void Remove(AttemptRef ref);

  void OnOutput(AttemptRef ref, int32_t rank, bool is_stderr, int64_t bytes, int64_t cut_bytes,
                bool ended);
  // No process is left: what is in the files is all.
  void OnReturned(AttemptRef ref);

  // A new connection: every stream waits until it is told where to go on.
  void OnConnected();
  void OnAck(const LogAck& ack);

  // Sends as much as the window allows, a piece of each stream in turn. A piece ends with a line
  // unless that is too long, or its end has not come within kLinePatience or with the stream's.
  void Pump(MonoTime now);
  // When, after `now`, a line that is held back is to be sent as it is; infinite: there is none.
  MonoTime NextDeadline(MonoTime now) const;

  // Everything is acknowledged and every stream's end has been said.
  bool Done(AttemptRef ref) const;
  // Grows whenever the coordinator acknowledges something of the attempt.
  int64_t AcknowledgedBytes(AttemptRef ref) const;

 private:
  struct Stream {
    std::string path;
    UniqueFd file;
    bool waiting = false;  // for the first acknowledgement of this connection
    int64_t sent = 0;
    int64_t acked = 0;
    int64_t size = 0;
    int64_t cut_bytes = 0;
    bool ended = false;
    bool end_said = false;
    MonoTime held_until = MonoTime::Infinite();  // for an unfinished line's end
  };
  // Returns false if there was nothing to send.
  bool SendPiece(MonoTime now, const StreamId& id, Stream* stream);
  // How much of `data`, the next there is, may be sent.
  static size_t Sendable(MonoTime now, absl::string_view data, Stream* stream);

  std::function<void(WorkerMessage)> send_;
  std::map<StreamId, Stream> streams_;
  std::vector<char> buffer_;  // of one piece
  int64_t in_flight_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OUTPUT_LOG_SHIPPER_H_
