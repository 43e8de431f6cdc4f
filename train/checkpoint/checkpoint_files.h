// Checkpoints on a disk: whole or not there, whatever dies meanwhile. Needs no LibTorch.
#ifndef HPC_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_
#define HPC_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/files/sha256.h"
#include "common/unique_fd.h"
#include "train/checkpoint/checkpoint_manifest.h"

namespace hpc::train {

// "FOLDER/step-000000001000"
std::string CheckpointPath(const std::string& folder, int64_t step);

// Steps of those in a folder that have a manifest, the earliest first. None if there is no folder.
std::vector<int64_t> CheckpointsIn(const std::string& folder);

// Of a checkpoint's folder. Throws CheckpointError.
CheckpointManifest ReadManifest(const std::string& path);

// Reads all files. Throws CheckpointError that names the first that is missing, too short, or not
// what was written.
void CheckFiles(const std::string& path, const CheckpointManifest& manifest);

// After this the files are a checkpoint, also after a power cut. Throws CheckpointError.
void CommitManifest(const std::string& path, const CheckpointManifest& manifest);

// After this the folder is none: its manifest goes first. Throws CheckpointError.
void RemoveCheckpoint(const std::string& path);

// Removes what was being written when its process was killed: folders of steps without a manifest.
// For who is the only one to write there.
void RemoveTornCheckpoints(const std::string& folder);

struct KeepPolicy {
  int latest = 2;  // at least 1
  int best = 0;    // those with the best metric, beside them
  bool lower_is_better = true;
};
struct KeptCheckpoint {
  int64_t step = 0;
  std::optional<double> metric;
};
// Those that are to go. Pure. Of the same metric the latest is the best.
std::set<int64_t> StepsToRemove(const std::vector<KeptCheckpoint>& all, const KeepPolicy& policy);

// A file that is there whole or not at all: a temporary one beside it, until Commit.
class CheckpointFileWriter {
 public:
  // Throws CheckpointError, as all methods: no such folder, no space.
  CheckpointFileWriter(const std::string& folder, const std::string& name);
  ~CheckpointFileWriter();  // removes what was not committed
  CheckpointFileWriter(const CheckpointFileWriter&) = delete;
  CheckpointFileWriter& operator=(const CheckpointFileWriter&) = delete;

  void Write(absl::string_view bytes);
  // fsync and rename; CommitManifest makes the name last.
  CheckpointFile Commit();

 private:
  const std::string path_, temporary_;
  CheckpointFile written_;
  Sha256 hash_;
  UniqueFd file_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_
