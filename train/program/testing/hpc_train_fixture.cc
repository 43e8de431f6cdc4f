#include "train/program/testing/hpc_train_fixture.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "gmock/gmock.h"
#include "train/program/train_main.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

template <typename T>
void WriteNpy(const std::string& path, const std::string& descr, const std::string& shape,
              const std::vector<T>& values) {
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': ", shape, ", }");
  header.resize(118, ' ');
  std::ofstream file(path, std::ios::binary);
  file << absl::string_view("\x93NUMPY\x01\x00\x76\x00", 10) << header;
  file.write(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

double Number(const std::string& json, const std::string& key) {
  std::smatch match;
  if (!std::regex_search(json, match, std::regex("\"" + key + "\": ([-+0-9.e]+)"))) return NAN;
  return std::stod(match[1]);
}

void WriteFloats(const std::string& path, const std::string& shape,
                 const std::vector<float>& values) {
  WriteNpy(path, "<f4", shape, values);
}

void WriteLabels(const std::string& path, const std::vector<int64_t>& labels) {
  WriteNpy(path, "<i8", absl::StrCat("(", labels.size(), ",)"), labels);
}

void HpcTrain::SetUp() {
  std::filesystem::create_directories(folder_);
  std::filesystem::create_directories(digits_);
  WritePictures();
}

void HpcTrain::TearDown() { std::filesystem::remove_all(folder_); }

// Writes pictures of ten kinds. One point is not enough to tell all of them apart.
void HpcTrain::WritePictures() {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.3f);
  std::vector<float> kinds(10 * 64), images;
  for (float& point : kinds) point = static_cast<float>(random() % 2);
  std::vector<int64_t> labels;
  for (int i = 0; i < kPictures; ++i) {
    labels.push_back(random() % 10);
    for (int at = 0; at < 64; ++at)
      images.push_back(kinds[labels.back() * 64 + at] + noise(random));
  }
  WriteFloats(digits_ + "/images.npy", absl::StrCat("(", kPictures, ", 8, 8)"), images);
  WriteLabels(digits_ + "/labels.npy", labels);
}

std::vector<HpcTrain::Outcome> HpcTrain::Run(int ranks,
                                             const std::function<Arguments(int rank)>& arguments,
                                             const std::function<void(int rank)>& before,
                                             const std::set<int>& unending) {
  auto outcomes = RunRanks(
      ranks,
      [&](const LaunchEnvironment& environment) -> Values {
        const int rank = environment.rank;
        setenv("RANK", absl::StrCat(rank).c_str(), 1);
        setenv("WORLD_SIZE", absl::StrCat(environment.world_size).c_str(), 1);
        setenv("MASTER_ADDR", environment.master_addr.c_str(), 1);
        setenv("MASTER_PORT", absl::StrCat(environment.master_port).c_str(), 1);
        setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
        setenv("HPC_METRICS_FILE", File(absl::StrCat("metrics", rank)).c_str(), 1);
        if (freopen(File(absl::StrCat("out", rank)).c_str(), "w", stdout) == nullptr ||
            freopen(File(absl::StrCat("err", rank)).c_str(), "w", stderr) == nullptr) {
          throw std::runtime_error("no file for the output");
        }
        Arguments all = {"hpc-train"};
        for (const std::string& one : arguments(rank)) all.push_back(one);
        std::vector<char*> argv;
        for (std::string& one : all) argv.push_back(one.data());
        before(rank);
        const int code = TrainMain(static_cast<int>(argv.size()), argv.data(), tasks_);
        fflush(stdout);
        fflush(stderr);
        return {static_cast<double>(code)};
      },
      unending);
  std::vector<Outcome> ended;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankOutcome& outcome = outcomes[rank];
    EXPECT_TRUE(outcome.finished || unending.count(rank) != 0) << rank << ": " << outcome.error;
    ended.push_back({outcome.finished ? static_cast<int>(outcome.values[0]) : -1,
                     ReadAll(File(absl::StrCat("out", rank))),
                     ReadAll(File(absl::StrCat("err", rank)))});
  }
  return ended;
}

std::string HpcTrain::ErrorOfDigits(const std::string& data, const Arguments& more) {
  const Outcome outcome = Run(1, [&](int) {
    Arguments all = {"digits", "--data", data, "--epochs=1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  })[0];
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, ::testing::Not(::testing::HasSubstr("epoch 1/")));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  return outcome.error;
}

// Runs in a process of its own: this one forks ranks, and must have no threads of LibTorch.
std::string HpcTrain::WriteNet(const std::string& name, int64_t points, int64_t classes,
                               const std::string& first, const std::string& result) {
  ValuesOf(RunRanks(1, [&](const LaunchEnvironment&) -> Values {
    torch::jit::Module net("net");
    net.register_parameter("weight", at::zeros({points, classes}).requires_grad_(true), false);
    net.define(absl::StrCat("def forward(self, x):\n    ", first,
                            "\n    product = torch.matmul(torch.flatten(x, 1), self.weight)",
                            "\n    return ", result, "\n"));
    net.save(File(name));
    return {};
  }));
  return File(name);
}

std::string HpcTrain::Train(int ranks, const Arguments& arguments) {
  std::filesystem::remove(File("summary"));
  Arguments all = arguments;
  all.push_back(absl::StrCat("--summary=", File("summary")));
  for (const Outcome& outcome : Run(ranks, [&](int) { return all; })) {
    EXPECT_EQ(outcome.code, 0) << outcome.error;
  }
  return ReadAll(File("summary"));
}

std::string HpcTrain::TrainDigits(int ranks, Arguments more) {
  more.insert(more.begin(), {"digits", "--data", digits_, "--epochs=4", "--batch=64"});
  return Train(ranks, more);
}

}  // namespace hpc::train
