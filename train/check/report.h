// What the gang check has found, for people and for programs.
#ifndef HPC_TRAIN_CHECK_REPORT_H_
#define HPC_TRAIN_CHECK_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "train/check/findings.h"

namespace hpc::train {

// Tables of the ranks, all-reduces, links and the training step, then what is wrong.
std::string ReportTable(const GangResult& gang, const std::vector<std::string>& findings);

// Where the gang broke in the midst of it.
struct Broken {
  std::string error;
  std::vector<int> ranks;  // that are missing, as far as that is known
};

// One line: an object whose fields docs/TRAINING.md tells. `gang` is what was measured until it was
// `broken`.
std::string ReportJson(const GangResult& gang, const std::vector<std::string>& findings,
                       const std::optional<Broken>& broken = std::nullopt);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_REPORT_H_
