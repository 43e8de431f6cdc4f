// The description of a checkpoint, in JSON. Needs no LibTorch.
//
//     FOLDER/step-000000001000/           one checkpoint
//       model.safetensors                 parameters and buffers, whole, by their names
//       optimizer-1-of-4.safetensors      states of the slices of one rank: "NAME:STATE:BEGIN" are
//                                         elements from BEGIN on of STATE of parameter NAME
//       manifest.json                     written last: a folder without it is no checkpoint
#ifndef HPC_TRAIN_CHECKPOINT_CHECKPOINT_MANIFEST_H_
#define HPC_TRAIN_CHECKPOINT_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::train {

inline constexpr int kCheckpointFormat = 1;
inline constexpr char kManifestName[] = "manifest.json";

// what() is one line that names the checkpoint's folder.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The checkpoint was written by a newer program. That is no reason to go on from an older
// checkpoint.
class NewerCheckpointError : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

struct CheckpointTensor {
  std::string name, dtype;  // "fc.weight", "F32"
  std::vector<int64_t> shape;
};

struct CheckpointFile {
  std::string name;  // its name in the checkpoint's folder
  uint64_t bytes = 0;
  std::string sha256;
};

struct CheckpointManifest {
  std::string run;
  int64_t step = 0;
  int world = 1;                 // how many ranks wrote it
  std::string optimizer;         // "adamw"; empty: none was saved
  std::optional<double> metric;  // a finite number
  std::map<std::string, std::string> values;
  std::vector<CheckpointTensor> parameters, buffers;
  std::vector<CheckpointFile> files;
};

std::string EncodeManifest(const CheckpointManifest& manifest);

// Throws NewerCheckpointError, and CheckpointError: it is not JSON, anything is missing or of
// another type, or a file name leads out of the folder.
CheckpointManifest ParseManifest(absl::string_view text);

// Compares a checkpoint with a model. Returns none if they agree, else the first difference:
// "parameter 'fc.weight' is F32[10, 64] in the checkpoint and F32[10, 32] in the model". `what` is
// "parameter".
std::optional<std::string> FirstDifference(const std::string& what,
                                           const std::vector<CheckpointTensor>& checkpoint,
                                           const std::vector<CheckpointTensor>& model);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_CHECKPOINT_MANIFEST_H_
