// Keeps in a checkpoint the options that it was trained with. Pure.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_OPTIONS_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_OPTIONS_H_

#include <map>
#include <string>

#include "train/program/options/train_options.h"

namespace hpc::train {

// Returns {"option.lr", "0.1"} and the like, for options that change the result of a training.
std::map<std::string, std::string> RememberedOptions(TrainOptions options);

// Returns "--lr 0.01 (was 0.1), --seed 8 (was 7)", or "" where nothing differs that matters now.
// `remembered` may have other entries too, and lack any: older checkpoints have none.
std::string OptionsThatDiffer(const std::map<std::string, std::string>& remembered,
                              const TrainOptions& now);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_REMEMBERED_OPTIONS_H_
