// Runs hpc-train in tests, as its user sees it: exit codes, errors, summaries. Ranks are processes.
#ifndef HPC_TRAIN_PROGRAM_TESTING_HPC_TRAIN_FIXTURE_H_
#define HPC_TRAIN_PROGRAM_TESTING_HPC_TRAIN_FIXTURE_H_

#include <unistd.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "train/program/task.h"

namespace hpc::train {

using Arguments = std::vector<std::string>;

std::string ReadAll(const std::string& path);

// Returns the number of "loss" in {"loss": 0.25, ...}, or NAN if it is not there.
double Number(const std::string& json, const std::string& key);

void WriteLabels(const std::string& path, const std::vector<int64_t>& labels);
void WriteFloats(const std::string& path, const std::string& shape,
                 const std::vector<float>& values);

class HpcTrain : public ::testing::Test {
 protected:
  struct Outcome {
    int code = -1;  // stays so for a rank that was killed
    std::string output, error;
  };

  void SetUp() override;
  void TearDown() override;

  std::string File(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  // Runs hpc-train as each rank, in the environment that the process has then. `before` runs in the
  // process first. Ranks in `unending` may be killed, or are killed when all others have ended.
  std::vector<Outcome> Run(
      int ranks, const std::function<Arguments(int rank)>& arguments,
      const std::function<void(int rank)>& before = [](int) {}, const std::set<int>& unending = {});

  // Returns the error about pictures with which one rank ends before the first step.
  std::string ErrorOfDigits(const std::string& data, const Arguments& more = {});

  // Saves a linear net of `points` points to `classes` numbers, as Python would, and returns its
  // path. `first` is the first line of its forward. `result` is what it returns of the "product".
  std::string WriteNet(const std::string& name, int64_t points, int64_t classes,
                       const std::string& first = "pass", const std::string& result = "product");

  // Returns the summary of a training that ends well.
  std::string Train(int ranks, const Arguments& arguments);
  std::string TrainDigits(int ranks, Arguments more);

  std::vector<TaskEntry> tasks_ = {DigitsTask(), ResnetTask(18), CharlmTask()};
  static constexpr int kPictures = 1000;
  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/hpc_train.", getpid());
  const std::string digits_ = folder_ + "/digits";

 private:
  void WritePictures();
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TESTING_HPC_TRAIN_FIXTURE_H_
