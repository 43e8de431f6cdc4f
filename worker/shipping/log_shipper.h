// Sends to the coordinator what ranks write. Every byte is sent once and in order, whatever happens
// to the connection, and never so many at once that other messages wait.
#ifndef HPC_WORKER_SHIPPING_LOG_SHIPPER_H_
#define HPC_WORKER_SHIPPING_LOG_SHIPPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "protocol/worker_message.h"

namespace hpc::worker {

class LogShipper {
 public:
  static constexpr int64_t kPieceBytes = 256 << 10;
  // The limit on bytes sent and not yet acknowledged, over all streams.
  static constexpr int64_t kWindowBytes = 4 << 20;
  // A line that is being written waits this long for its end, so that other output shown at the
  // time does not land inside it. After that it is sent as it is, so a prompt or a progress bar is
  // seen.
  static constexpr absl::Duration kLinePatience = absl::Milliseconds(50);
  // A stream that could not be opened for want of descriptors is tried again after this time.
  static constexpr absl::Duration kDescriptorPatience = absl::Seconds(1);

  explicit LogShipper(std::function<void(protocol::WorkerMessage)> send)
      : send_(std::move(send)), buffer_(kPieceBytes) {}

  // `known`: the coordinator may have some of the output already, and says first how much (an
  // attempt that was named in a hello). Otherwise the streams begin at 0 at once.
  void Add(AttemptRef ref, const std::string& attempt_dir, const std::vector<int32_t>& ranks,
           bool known);
  void Remove(AttemptRef ref);

  void OnOutput(AttemptRef ref, int32_t rank, bool is_stderr, int64_t bytes, int64_t cut_bytes,
                bool ended);
  // No process is left, so what is in the files is all there will be.
  void OnReturned(AttemptRef ref);

  // There is a new connection. Every stream waits until it is told where to go on.
  void OnConnected();
  void OnAck(const protocol::LogAck& ack);

  // Sends as much as the window allows, one piece of each stream in turn. A piece ends at the end
  // of a line. It may end elsewhere if the line is too long, if kLinePatience has passed, or if the
  // stream ends.
  void Pump(MonoTime now);
  // When, after `now`, a line that is held back is to be sent as it is; infinite if there is none.
  MonoTime NextDeadline(MonoTime now) const;

  // Everything is acknowledged, and the end of every stream has been said.
  bool Done(AttemptRef ref) const;
  // Grows whenever the coordinator acknowledges something of the attempt.
  int64_t AcknowledgedBytes(AttemptRef ref) const;

 private:
  struct Stream {
    std::string path;
    UniqueFd file;
    bool waiting = false;  // waits for the first acknowledgement of this connection
    int64_t sent = 0;
    int64_t acked = 0;
    int64_t size = 0;
    int64_t cut_bytes = 0;
    bool ended = false;
    bool end_said = false;
    MonoTime held_until = MonoTime::Infinite();  // an unfinished line waits until then for its end
  };
  // Returns false if there was nothing to send.
  bool SendPiece(MonoTime now, const protocol::StreamId& id, Stream* stream);
  // How much of `data`, the next bytes of the stream, may be sent.
  static size_t Sendable(MonoTime now, absl::string_view data, Stream* stream);

  std::function<void(protocol::WorkerMessage)> send_;
  std::map<protocol::StreamId, Stream> streams_;
  std::vector<char> buffer_;  // holds one piece
  int64_t in_flight_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SHIPPING_LOG_SHIPPER_H_
