#include "client/cli/follow/rank_output.h"

#include "client/cli/forms/times.h"

namespace hpc::client {

RankOutput::RankOutput(Session* session, int64_t run, Labelling labelling)
    : session_(session), run_(run), labels_(labelling, session->out().colours()) {}

void RankOutput::Learn(int attempt) {
  const absl::StatusOr<Client*> client = session_->Connect();
  if (client.ok()) {
    const absl::StatusOr<v1::RunDetail> detail = (*client)->GetRun(run_);
    if (detail.ok()) labels_.Learn(*detail);
  }
  if (labels_.Needs(attempt)) labels_.LearnNothing(attempt);
}

void RankOutput::Write(const v1::LogPiece& piece) {
  if (!piece.missing().empty()) {
    return session_->Notice("some of the output is lost here: " + piece.missing());
  }
  if (labels_.Needs(piece.attempt())) Learn(piece.attempt());
  std::string label = labels_.For(piece.attempt(), piece.rank());
  if (times_) label = LocalTime(piece.at_us()) + " " + label;
  session_->progress().Clear();
  if (label.empty() && labels_.Single(piece.attempt()))
    return WriteTo(piece.is_stderr(), piece.data());
  const StreamId stream = {piece.attempt(), piece.rank(), piece.is_stderr()};
  WriteTo(piece.is_stderr(), lines_.Add(stream, label, piece.data()));
}

void RankOutput::Finish() {
  lines_.Finish([this](const StreamId& stream, const std::string& line) {
    session_->progress().Clear();
    WriteTo(stream.is_stderr, line);
  });
}

void RankOutput::WriteTo(bool is_stderr, absl::string_view text) {
  Output& output = is_stderr ? session_->err() : session_->out();
  session_->ranks().Wrote(is_stderr, text);
  output.Write(text);
  // The output is live, so it is flushed at once. On a terminal this also keeps stdout and stderr
  // in order.
  output.Flush();
}

}  // namespace hpc::client
