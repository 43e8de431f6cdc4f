// A program that trains: hpc-train itself, or one with tasks of your own.
#ifndef HPC_TRAIN_PROGRAM_TRAIN_MAIN_H_
#define HPC_TRAIN_PROGRAM_TRAIN_MAIN_H_

#include <string>
#include <vector>

#include "train/program/task.h"

namespace hpc::train {

// Understands "PROGRAM TASK OPTIONS...", or without TASK if there is only one. Runs as one of the
// ranks that the environment describes, or alone. The exit code is 0 if all epochs are done. It is
// 1 after an error, which is one line on standard error, or if all is done and standard output
// could not be written. It is 2 for wrong use. It is 143 if it was asked to stop (SIGTERM) and left
// at the end of a step. `more` has lines for --help about what the program does besides.
int TrainMain(int argc, char** argv, const std::vector<TaskEntry>& tasks,
              const std::string& more = "");

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAIN_MAIN_H_
