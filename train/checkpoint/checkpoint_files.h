// Checkpoints on a disk. Each is whole or not there, whatever dies meanwhile. Needs no LibTorch.
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

// Returns "FOLDER/step-000000001000".
std::string CheckpointPath(const std::string& folder, int64_t step);

// Returns the steps of the checkpoints in a folder that have a manifest, the earliest first. There
// are none if there is no folder.
std::vector<int64_t> CheckpointsIn(const std::string& folder);

// Reads the manifest of a checkpoint, whose folder is `path`. Throws CheckpointError.
CheckpointManifest ReadManifest(const std::string& path);

// Reads all files. Throws CheckpointError that names the first one that is missing, too short, or
// not what was written.
void CheckFiles(const std::string& path, const CheckpointManifest& manifest);

// Makes the files a checkpoint, which survives a power cut. Throws CheckpointError.
void CommitManifest(const std::string& path, const CheckpointManifest& manifest);

// Removes the manifest first, so that the folder is no checkpoint any more, and then the rest.
// Throws CheckpointError.
void RemoveCheckpoint(const std::string& path);

// Removes checkpoints that were being written when their process was killed: folders of steps
// without a manifest. Only the sole writer of `folder` may call it.
void RemoveTornCheckpoints(const std::string& folder);

struct KeepPolicy {
  int latest = 2;  // at least 1
  int best = 0;    // how many with the best metric are kept besides
  bool lower_is_better = true;
};
struct KeptCheckpoint {
  int64_t step = 0;
  std::optional<double> metric;
};
// Returns the steps that should be removed. Pure. Among equal metrics the latest is the best.
std::set<int64_t> StepsToRemove(const std::vector<KeptCheckpoint>& all, const KeepPolicy& policy);

// Writes a file that is there as a whole or not at all. Until Commit it is a temporary file beside
// it.
class CheckpointFileWriter {
 public:
  // Throws CheckpointError, like all methods: no such folder, no space.
  CheckpointFileWriter(const std::string& folder, const std::string& name);
  ~CheckpointFileWriter();  // removes a file that was not committed
  CheckpointFileWriter(const CheckpointFileWriter&) = delete;
  CheckpointFileWriter& operator=(const CheckpointFileWriter&) = delete;

  void Write(absl::string_view bytes);
  // Does the fsync and the rename. The new name itself is only durable after CommitManifest.
  CheckpointFile Commit();

 private:
  const std::string path_, temporary_;
  CheckpointFile written_;
  Sha256 hash_;
  UniqueFd file_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_
