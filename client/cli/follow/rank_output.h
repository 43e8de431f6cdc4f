// Shows the ranks' output on our own stdout and stderr: labelled, in order, each stream on its own.
#ifndef HPC_CLIENT_CLI_FOLLOW_RANK_OUTPUT_H_
#define HPC_CLIENT_CLI_FOLLOW_RANK_OUTPUT_H_

#include <cstdint>

#include "client/cli/follow/line_labeller.h"
#include "client/cli/follow/rank_labels.h"
#include "client/cli/session.h"

namespace hpc::client {

class RankOutput {
 public:
  RankOutput(Session* session, int64_t run, Labelling labelling);

  // From now on each line begins with the time at which the coordinator received its end.
  void ShowTimes() { times_ = true; }

  // Writes a piece at once. The first piece of an attempt may make it ask the coordinator about the
  // attempt's ranks.
  void Write(const v1::LogPiece& piece);
  // Writes the unfinished lines that are left.
  void Finish();

 private:
  void Learn(int attempt);
  void WriteTo(bool is_stderr, absl::string_view text);

  Session* session_;
  const int64_t run_;
  bool times_ = false;
  RankLabels labels_;
  LineLabeller lines_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_RANK_OUTPUT_H_
