// A program that trains: hpc-train itself, or one with tasks of your own.
#ifndef HPC_TRAIN_PROGRAM_TRAIN_MAIN_H_
#define HPC_TRAIN_PROGRAM_TRAIN_MAIN_H_

#include <string>
#include <vector>

#include "train/program/task.h"

namespace hpc::train {

// "PROGRAM TASK OPTIONS...", or without TASK where there is one only. Runs as one of the ranks that
// the environment tells of, or alone. The exit code: 0, all epochs done; 1, an error, which is one
// line on standard error, or all done and standard output could not be written; 2, wrong use; 143,
// asked to stop (SIGTERM) and left at the end of a step. `more`: lines for --help, of what the
// program does besides.
int TrainMain(int argc, char** argv, const std::vector<TaskEntry>& tasks,
              const std::string& more = "");

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAIN_MAIN_H_
