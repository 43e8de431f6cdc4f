// What a training came to, in JSON: on standard output, and in a file.
#ifndef HPC_TRAIN_PROGRAM_SUMMARY_FILE_H_
#define HPC_TRAIN_PROGRAM_SUMMARY_FILE_H_

#include <string>

#include "train/program/trainer.h"

namespace hpc::train {

// Before training. Throws std::runtime_error where the file cannot be written, and leaves what is
// in it as it is. Empty: there is none.
void TrySummaryFile(const std::string& path);

// Throws as TrySummaryFile. A file is replaced whole; a pipe or a device is written into.
void TellSummary(const TrainSummary& summary, const std::string& task, int ranks,
                 const std::string& path);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_SUMMARY_FILE_H_
