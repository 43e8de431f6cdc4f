// Prints what the gang check has found, for people and for programs.
#ifndef HPC_TRAIN_CHECK_REPORT_H_
#define HPC_TRAIN_CHECK_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "train/check/findings.h"

namespace hpc::train {

// Returns tables of the ranks, all-reduces, links and the training step, and then what is wrong.
std::string ReportTable(const GangResult& gang, const std::vector<std::string>& findings);

// Says how the gang broke during the check.
struct Broken {
  std::string error;
  std::vector<int> ranks;  // the missing ranks, as far as they are known
};

// Returns one line: an object whose fields docs/TRAINING.md describes. `gang` is what was measured
// before the gang was `broken`.
std::string ReportJson(const GangResult& gang, const std::vector<std::string>& findings,
                       const std::optional<Broken>& broken = std::nullopt);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_REPORT_H_
