// What options mean for each other. Pure.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_OPTION_RULES_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_OPTION_RULES_H_

#include <set>
#include <string>
#include <vector>

#include "train/program/options/train_options.h"
#include "train/tool/option_table.h"

namespace hpc::train {

// Where `options` say another optimizer than `of_task`: the step size and weight decay that are
// common for it, unless they were said. Those of the task are for its own, and wreck a model
// silently with another.
void SetRatesOfOptimizer(const std::string& of_task, const OptionTable& table,
                         TrainOptions* options);

// "sgd lr 0.1 cosine, batch 128".
std::string HowItTrains(const TrainOptions& options);

// Throws UsageError: what cannot be together, with any data, where there are so many ranks.
void CheckTogether(const TrainOptions& options, int ranks);

// Of the options that were said, those that do nothing as others are, a line each: "--momentum does
// nothing: it is of sgd, and --optimizer is adamw". `unused` are those that the task does not look
// at. `has_folder`: checkpoints are saved.
std::vector<std::string> WithoutEffect(const TrainOptions& options, const OptionTable& table,
                                       const std::string& task, const std::set<std::string>& unused,
                                       bool has_folder, int ranks);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_OPTION_RULES_H_
