#include "worker/shipping/log_shipper.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/files/files.h"
#include "common/process/log.h"
#include "protocol/limits.h"
#include "worker/core/rank_environment.h"
#include "worker/supervisor_client/foreign_file.h"

namespace hpc::worker {

void LogShipper::Add(AttemptRef ref, const std::string& attempt_dir,
                     const std::vector<int32_t>& ranks, bool known) {
  for (int32_t rank : ranks) {
    for (bool is_stderr : {false, true}) {
      Stream& stream = streams_[{ref, rank, is_stderr}];
      stream.path = OutputFile(attempt_dir, rank, is_stderr);
      stream.waiting = known;
    }
  }
}

void LogShipper::Remove(AttemptRef ref) {
  for (auto it = streams_.begin(); it != streams_.end();) {
    if (it->first.ref != ref) {
      ++it;
      continue;
    }
    in_flight_ -= it->second.sent - it->second.acked;
    it = streams_.erase(it);
  }
}

void LogShipper::OnOutput(AttemptRef ref, int32_t rank, bool is_stderr, int64_t bytes,
                          int64_t cut_bytes, bool ended) {
  auto it = streams_.find({ref, rank, is_stderr});
  if (it == streams_.end()) return;
  Stream& stream = it->second;
  stream.size = std::max(stream.size, bytes);
  stream.cut_bytes = std::max(stream.cut_bytes, cut_bytes);
  stream.ended = stream.ended || ended;
}

void LogShipper::OnReturned(AttemptRef ref) {
  for (auto& [id, stream] : streams_) {
    if (id.ref != ref) continue;
    stream.size = std::max(stream.size, ForeignFileSize(stream.path));
    stream.ended = true;
  }
}

void LogShipper::OnConnected() {
  for (auto& [id, stream] : streams_) {
    stream.waiting = true;
    stream.held_until = MonoTime::Infinite();
  }
}

void LogShipper::OnAck(const protocol::LogAck& ack) {
  auto it = streams_.find(ack.stream);
  if (it == streams_.end()) return;
  Stream& stream = it->second;
  const int64_t offset = std::clamp<int64_t>(ack.offset, 0, protocol::kMaxOffset);
  in_flight_ -= stream.sent - stream.acked;
  if (stream.waiting) {
    stream.waiting = false;
    stream.sent = offset;
    stream.end_said = false;
  }
  stream.acked = std::min(offset, stream.sent);
  in_flight_ += stream.sent - stream.acked;
}

void LogShipper::Pump(MonoTime now) {
  for (bool sent = true; sent && in_flight_ < kWindowBytes;) {
    sent = false;
    for (auto& [id, stream] : streams_) {
      if (in_flight_ >= kWindowBytes) break;
      sent = SendPiece(now, id, &stream) || sent;
    }
  }
}

MonoTime LogShipper::NextDeadline(MonoTime now) const {
  MonoTime next = MonoTime::Infinite();
  for (const auto& [id, stream] : streams_) {
    // A piece that is due but was not sent waits for the window, not for a time.
    if (stream.held_until > now) next = std::min(next, stream.held_until);
  }
  return next;
}

size_t LogShipper::Sendable(MonoTime now, absl::string_view data, Stream* stream) {
  const bool is_all = stream->sent + static_cast<int64_t>(data.size()) >= stream->size;
  if (stream->ended && is_all) return data.size();
  const size_t end = data.rfind('\n');
  if (end != absl::string_view::npos) return end + 1;
  if (static_cast<int64_t>(data.size()) >= kPieceBytes) return data.size();
  if (stream->held_until == MonoTime::Infinite()) stream->held_until = now + kLinePatience;
  return now < stream->held_until ? 0 : data.size();
}

bool LogShipper::SendPiece(MonoTime now, const protocol::StreamId& id, Stream* stream) {
  if (stream->waiting || stream->end_said) return false;
  if (stream->sent >= stream->size) {
    if (!stream->ended) return false;
    stream->end_said = true;
    stream->file.Reset();
    send_(protocol::LogEnd{id, stream->cut_bytes});
    return false;
  }
  if (!stream->file.ok()) {
    absl::StatusOr<UniqueFd> file = OpenForeignFile(stream->path);
    if (file.ok()) {
      stream->file = *std::move(file);
    } else if (absl::IsResourceExhausted(file.status())) {  // no descriptors are left
      stream->held_until = now + kDescriptorPatience;
      return false;
    }
  }
  // The file may hold more than was announced. Reading it, too, may complete the last line.
  const ssize_t n = pread(stream->file.get(), buffer_.data(), buffer_.size(), stream->sent);
  if (n <= 0) {
    LogWarning("output cannot be read back; the rest of it is lost",
               {{"file", stream->path},
                {"offset", stream->sent},
                {"error", n < 0 ? ErrnoStatus(errno, "read").ToString() : "file is too short"}});
    stream->cut_bytes += stream->size - stream->sent;
    stream->size = stream->sent;
    stream->ended = true;
    return true;
  }
  stream->size = std::max<int64_t>(stream->size, stream->sent + n);
  const size_t ready =
      Sendable(now, absl::string_view(buffer_.data(), static_cast<size_t>(n)), stream);
  if (ready == 0) return false;
  send_(protocol::LogData{id, stream->sent, std::string(buffer_.data(), ready)});
  stream->held_until = MonoTime::Infinite();
  stream->sent += static_cast<int64_t>(ready);
  in_flight_ += static_cast<int64_t>(ready);
  return true;
}

bool LogShipper::Done(AttemptRef ref) const {
  return std::all_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
    const Stream& stream = entry.second;
    return entry.first.ref != ref || (stream.end_said && stream.acked >= stream.size);
  });
}

int64_t LogShipper::AcknowledgedBytes(AttemptRef ref) const {
  int64_t bytes = 0;
  for (const auto& [id, stream] : streams_) {
    if (id.ref == ref) bytes += stream.acked;
  }
  return bytes;
}

}  // namespace hpc::worker
