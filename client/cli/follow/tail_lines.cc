#include "client/cli/follow/tail_lines.h"

#include <algorithm>
#include <utility>

namespace hpc::client {

void TailLines::Add(const v1::LogPiece& piece) {
  if (!piece.missing().empty()) return Push(piece);
  const StreamId id = {piece.attempt(), piece.rank(), piece.is_stderr()};
  const auto [at, is_new] = streams_.try_emplace(id);
  if (is_new) {
    at->second.line.set_attempt(piece.attempt());
    at->second.line.set_rank(piece.rank());
    at->second.line.set_is_stderr(piece.is_stderr());
    at->second.skipping = piece.offset() > 0;
  }
  at->second.line.set_at_us(piece.at_us());
  AddTo(&at->second, piece.data());
}

void TailLines::AddTo(Stream* stream, absl::string_view data) {
  while (!data.empty()) {
    const size_t end = data.find('\n');
    const absl::string_view part = data.substr(0, end == data.npos ? end : end + 1);
    data.remove_prefix(part.size());
    if (!stream->skipping) stream->line.mutable_data()->append(part.data(), part.size());
    const bool whole = end != absl::string_view::npos;
    if (whole || stream->line.data().size() >= kLongest) {
      if (!stream->skipping) Push(stream->line);
      stream->line.clear_data();
    }
    if (whole) stream->skipping = false;
  }
}

void TailLines::Push(v1::LogPiece line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > wanted_) lines_.pop_front();
}

size_t TailLines::Unfinished() const {
  return static_cast<size_t>(std::count_if(streams_.begin(), streams_.end(), [](const auto& one) {
    return !one.second.line.data().empty();
  }));
}

std::deque<v1::LogPiece> TailLines::Finish() {
  for (auto& [id, stream] : streams_) {
    if (!stream.line.data().empty()) Push(std::move(stream.line));
  }
  streams_.clear();
  return std::exchange(lines_, {});
}

}  // namespace hpc::client
