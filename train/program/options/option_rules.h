// The rules between options. Pure.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_OPTION_RULES_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_OPTION_RULES_H_

#include <set>
#include <string>
#include <vector>

#include "train/program/options/train_options.h"
#include "train/tool/option_table.h"

namespace hpc::train {

// If `options` name another optimizer than `of_task`, sets the step size and weight decay that are
// common for it, unless the user set them. The task's own values are for its own optimizer, and
// silently ruin a model with another one.
void SetRatesOfOptimizer(const std::string& of_task, const OptionTable& table,
                         TrainOptions* options);

// Returns "sgd lr 0.1 cosine, batch 128".
std::string HowItTrains(const TrainOptions& options);

// Throws UsageError for options that cannot be combined, with any data, with so many ranks.
void CheckTogether(const TrainOptions& options, int ranks);

// Returns one line for each option that was given but does nothing beside the others: "--momentum
// does nothing: it is of sgd, and --optimizer is adamw". `unused` are those that the task does not
// look at. `has_folder` says that checkpoints are saved.
std::vector<std::string> WithoutEffect(const TrainOptions& options, const OptionTable& table,
                                       const std::string& task, const std::set<std::string>& unused,
                                       bool has_folder, int ranks);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_OPTION_RULES_H_
