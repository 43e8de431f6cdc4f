// What the gang check has found, for people and for programs.
#ifndef HPC_TRAIN_CHECK_REPORT_H_
#define HPC_TRAIN_CHECK_REPORT_H_

#include <string>
#include <vector>

#include "train/check/findings.h"

namespace hpc::train {

// Tables of the ranks, all-reduces, links and the training step, then what is wrong.
std::string ReportTable(const GangResult& gang, const std::vector<std::string>& findings);

// One line: an object whose fields docs/TRAINING.md tells.
std::string ReportJson(const GangResult& gang, const std::vector<std::string>& findings);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_REPORT_H_
