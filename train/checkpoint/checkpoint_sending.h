// A checkpoint's files between ranks, and whether all of them could do what each had to.
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

// A collective. Does `act`, and tells all ranks what it returned, which is the result, in the order
// of ranks. Throws CheckpointError on all ranks where `act` threw on any: `what`, the first such
// rank, and why. CollectiveError passes through.
std::vector<std::string> AllOrNone(Communicator& group, const std::string& what,
                                   const std::function<std::string()>& act);

// A collective. All ranks get what `owner` has in `pieces`, one after the other, a part at a time.
void Distribute(Communicator& group, int owner, const std::vector<absl::string_view>& pieces,
                const std::function<void(absl::string_view)>& take);

// A file that this rank writes, or does not. Nothing throws: what goes wrong is kept until it is
// asked for, so that the rank goes on taking part in what all do.
class CheckpointSink {
 public:
  CheckpointSink(bool writes, const std::string& folder, const std::string& name);

  void Write(absl::string_view bytes);
  // None where it does not write, or something went wrong.
  std::optional<CheckpointFile> Commit();
  const std::string& fault() const { return fault_; }  // empty: none

 private:
  void Try(const std::function<void()>& act);

  std::unique_ptr<CheckpointFileWriter> writer_;
  std::string fault_;
};

// A line of text, and what all ranks said in such lines.
std::string EncodeFile(const CheckpointFile& file);
std::vector<CheckpointFile> DecodeFiles(const std::vector<std::string>& texts);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_CHECKPOINT_SENDING_H_
