// The parameters of a run of hpcctl: hpcctl run --param lr=0.1.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_RUN_PARAMS_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_RUN_PARAMS_H_

#include <string>
#include <vector>

#include "train/tool/option_table.h"

namespace hpc::train {

struct RunParams {
  std::vector<std::string> arguments;  // "--weight-decay=0.1" for weight_decay or weight-decay
  std::vector<std::string> unused;     // names that belong to no option
};

// Parses `text`, the content of HPC_PARAMS_FILE. Throws UsageError that names `path` unless it is
// one JSON object of strings, numbers and booleans. A switch is taken if its value is true.
RunParams ParseRunParams(const std::string& path, const std::string& text,
                         const OptionTable& table);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_RUN_PARAMS_H_
