// Sends a checkpoint's files between ranks, and finds out whether all of them could do their part.
#ifndef HPC_TRAIN_CHECKPOINT_CHECKPOINT_SENDING_H_
#define HPC_TRAIN_CHECKPOINT_CHECKPOINT_SENDING_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/group/communicator.h"

namespace hpc::train {

// A collective. Calls `act`, and tells all ranks what it returned. Returns what all ranks got from
// it, in the order of ranks. If `act` threw on any rank, throws CheckpointError on all ranks:
// `what`, the first such rank, and why. CollectiveError passes through.
std::vector<std::string> AllOrNone(Communicator& group, const std::string& what,
                                   const std::function<std::string()>& act);

// A collective. Gives all ranks what `owner` has in `pieces`, one after the other, a part at a
// time.
void Distribute(Communicator& group, int owner, const std::vector<absl::string_view>& pieces,
                const std::function<void(absl::string_view)>& take);

// A file that this rank writes, or does not write. No method throws: an error is kept until it is
// asked for, so that the rank goes on taking part in what all ranks do.
class CheckpointSink {
 public:
  CheckpointSink(bool writes, const std::string& folder, const std::string& name);

  void Write(absl::string_view bytes);
  // Returns none where this rank does not write, or something went wrong.
  std::optional<CheckpointFile> Commit();
  const std::string& fault() const { return fault_; }  // empty: there is none

 private:
  void Try(const std::function<void()>& act);

  std::unique_ptr<CheckpointFileWriter> writer_;
  std::string fault_;
};

// EncodeFile makes a line of text, and DecodeFiles reads such lines of all ranks.
std::string EncodeFile(const CheckpointFile& file);
std::vector<CheckpointFile> DecodeFiles(const std::vector<std::string>& texts);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_CHECKPOINT_SENDING_H_
