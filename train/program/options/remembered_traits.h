// Keeps in a checkpoint what it says about the model, beside its parameters, and about its data.
// Pure. Older checkpoints say nothing about this, and are accepted.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_TRAITS_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_TRAITS_H_

#include <cstdint>
#include <map>
#include <string>

namespace hpc::train {

using Traits = std::map<std::string, std::string>;

// Returns {"model.heads", "4"} and the like, and {"data", fingerprint}.
Traits RememberedTraits(const Traits& of_model, const std::string& data);

// Throws CheckpointError if the model of the checkpoint of `step` has another trait.
void CheckTraits(int64_t step, const Traits& remembered, const Traits& of_model);

// Returns "now (was before)", or "" if the data are the same.
std::string DataThatDiffers(const Traits& remembered, const std::string& data);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_TRAITS_H_
