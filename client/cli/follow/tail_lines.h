// The last lines of a run's output, of all its streams together. Pure.
#ifndef HPC_CLIENT_CLI_FOLLOW_TAIL_LINES_H_
#define HPC_CLIENT_CLI_FOLLOW_TAIL_LINES_H_

#include <cstddef>
#include <deque>
#include <map>

#include "client/cli/follow/line_labeller.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

class TailLines {
 public:
  explicit TailLines(size_t wanted) : wanted_(wanted) {}

  // Takes pieces in the order of the log. They may begin anywhere: the rest of a line whose
  // beginning was not read is left out.
  void Add(const v1::LogPiece& piece);

  // Returns whether enough has been added for the wanted number of lines.
  bool complete() const { return lines_.size() + Unfinished() >= wanted_; }

  // Returns at most the wanted number of lines, one piece for each, in the order of their ends.
  // Unfinished lines come last. A note that output is missing counts as a line.
  std::deque<v1::LogPiece> Finish();

 private:
  // A line ends with "\n". In a longer line, each part of this size counts as a line.
  static constexpr size_t kLongest = 64 << 10;

  struct Stream {
    v1::LogPiece line;  // the line as far as it has come
    bool skipping = false;
  };
  void AddTo(Stream* stream, absl::string_view data);
  void Push(v1::LogPiece line);
  size_t Unfinished() const;

  const size_t wanted_;
  std::deque<v1::LogPiece> lines_;
  std::map<StreamId, Stream> streams_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_TAIL_LINES_H_
