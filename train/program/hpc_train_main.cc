#include <string>
#include <vector>

#include "train/check/check_main.h"
#include "train/program/train_main.h"

int main(int argc, char** argv) {
  using namespace hpc::train;  // NOLINT
  if (argc > 1 && std::string(argv[1]) == "check") {
    return CheckMain("hpc-train", std::vector<std::string>(argv + 2, argv + argc));
  }
  return TrainMain(argc, argv, {DigitsTask(), ResnetTask(18), ResnetTask(50), CharlmTask()},
                   "  check      trains nothing: measures the PCs and the network between them\n");
}
