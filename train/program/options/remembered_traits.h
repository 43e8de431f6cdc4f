// What a checkpoint keeps of the model, beside its parameters, and of the data that it is of. Pure.
// Older checkpoints say nothing of it, and are taken.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_TRAITS_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_TRAITS_H_

#include <cstdint>
#include <map>
#include <string>

namespace hpc::train {

using Traits = std::map<std::string, std::string>;

// {"model.heads", "4"}, and {"data", fingerprint}.
Traits RememberedTraits(const Traits& of_model, const std::string& data);

// Throws CheckpointError where the checkpoint of `step` is of a model that has another trait.
void CheckTraits(int64_t step, const Traits& remembered, const Traits& of_model);

// "now (was before)"; empty where it is the same.
std::string DataThatDiffers(const Traits& remembered, const std::string& data);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_TRAITS_H_
