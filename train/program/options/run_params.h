// The parameters of a run of hpcctl: hpcctl run --param lr=0.1.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_RUN_PARAMS_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_RUN_PARAMS_H_

#include <string>
#include <vector>

#include "train/tool/option_table.h"

namespace hpc::train {

struct RunParams {
  std::vector<std::string> arguments;  // "--weight-decay=0.1" of weight_decay or weight-decay
  std::vector<std::string> unused;     // names that are no option's
};

// `text` is what HPC_PARAMS_FILE holds. Throws UsageError that names `path` unless it is one JSON
// object of strings, numbers and booleans. A switch is taken where its value is true.
RunParams ParseRunParams(const std::string& path, const std::string& text,
                         const OptionTable& table);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_RUN_PARAMS_H_
