// The options of hpc-train.
#ifndef HPC_TRAIN_PROGRAM_OPTIONS_TRAIN_OPTIONS_H_
#define HPC_TRAIN_PROGRAM_OPTIONS_TRAIN_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "train/tool/option_table.h"

namespace hpc::train {

struct TrainOptions {
  // The task's data and model.
  std::string data;
  std::string model;  // a TorchScript file in place of the task's own
  int64_t seed = 7;
  int64_t epochs = 8;
  int64_t batch = 128;  // samples of all ranks together
  std::vector<double> shares;

  std::string optimizer = "adamw";
  double lr = 1e-3;
  double momentum = 0.9;
  double weight_decay = 0;
  double clip = 0;  // 0: none
  int64_t warmup = 0;
  std::string schedule = "constant";

  std::string checkpoint_dir;  // empty: HPC_CHECKPOINT_DIR
  int64_t checkpoint_every = 0;
  int64_t keep = 2;

  // How ranks work together.
  int64_t zero = 0;
  bool offload = false;
  std::string compression = "none";
  int64_t powersgd_rank = 2;
  int64_t local_steps = 0;  // 0: gradients are reduced in each step
  double outer_lr = 0.7, outer_momentum = 0.5;
  int64_t deadline = 600;      // seconds
  int64_t min_ranks = 0;       // so many must be left to go on in place; 0: none go on
  int64_t keep_in_memory = 0;  // steps between two snapshots in memory; 0: none

  std::string precision = "fp32";
  std::string fp32_matmul = "highest";
  bool recompute = false;
  std::string on_nan = "stop";
  std::string device = "auto";

  // For a GPT.
  int64_t width = 128, depth = 4, heads = 4, context = 128;
  double dropout = 0;

  // For this rank alone.
  int64_t workers = 1;
  int64_t threads = 1;
  std::string summary;

  std::string task_options;  // for a user's own task: any text
};

// `options` must outlive the table.
OptionTable TableOf(TrainOptions* options);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIONS_TRAIN_OPTIONS_H_
