#include "train/program/train_main.h"

int main(int argc, char** argv) {
  using namespace hpc::train;  // NOLINT
  return TrainMain(argc, argv, {DigitsTask(), ResnetTask(18), ResnetTask(50), CharlmTask()});
}
