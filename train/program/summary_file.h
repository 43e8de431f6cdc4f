// Writes the result of a training in JSON, to standard output and into a file.
#ifndef HPC_TRAIN_PROGRAM_SUMMARY_FILE_H_
#define HPC_TRAIN_PROGRAM_SUMMARY_FILE_H_

#include <string>

#include "train/program/trainer.h"

namespace hpc::train {

// Is called before training. Throws std::runtime_error if the file cannot be written, and leaves
// its content as it is. An empty path means that there is no file.
void TrySummaryFile(const std::string& path);

// Throws as TrySummaryFile. A file is replaced whole; a pipe or a device is written into.
void TellSummary(const TrainSummary& summary, const std::string& task, int ranks,
                 const std::string& path);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_SUMMARY_FILE_H_
