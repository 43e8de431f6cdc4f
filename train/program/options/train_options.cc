#include "train/program/options/train_options.h"

namespace hpc::train {
namespace {

// These are more than any PC has cores, and fewer than a process may have threads.
constexpr int64_t kMostWorkers = 256, kMostThreads = 1024;
constexpr int64_t kLongestDeadline = 10'000'000;  // about four months
constexpr auto kNotCompared = OptionTable::Compared::kNo;

void AddTraining(TrainOptions* to, OptionTable* table) {
  table->Text("data", &to->data, "file or folder of the data", kNotCompared);
  table->Text("model", &to->model, "TorchScript file that is trained in place of the task's net",
              kNotCompared);
  table->Whole("seed", &to->seed, 0, "of initial parameters and the order of samples",
               OptionTable::Compared::kYes, INT64_MAX);
  table->Whole("epochs", &to->epochs, 0, "passes over the data");
  table->Whole("batch", &to->batch, 1, "samples of a step, of all ranks together");
  table->Reals("shares", &to->shares, "each rank's part of a batch; equal parts if not said");
  table->Choice("optimizer", &to->optimizer, {"adamw", "adam", "sgd"},
                "one that is not the task's has its own --lr and --weight-decay, unless they are "
                "said: adamw 0.001 and 0.01, adam 0.001 and 0, sgd 0.01 and 0");
  table->Real("lr", &to->lr, 0, "step size");
  table->Real("momentum", &to->momentum, 0, "of sgd");
  table->Real("weight-decay", &to->weight_decay, 0, "pull of parameters towards 0");
  table->Real("clip", &to->clip, 0, "largest norm of all gradients together; 0: any");
  table->Whole("warmup", &to->warmup, 0, "steps in which the step size rises to --lr");
  table->Choice("schedule", &to->schedule, {"constant", "cosine"}, "of the step size after that");
}

void AddCheckpoints(TrainOptions* to, OptionTable* table) {
  table->Text(
      "checkpoint-dir", &to->checkpoint_dir,
      "folder of checkpoints, of which the newest is gone on from; HPC_CHECKPOINT_DIR if not "
      "said",
      kNotCompared);
  table->Whole("checkpoint-every", &to->checkpoint_every, 0, "steps; 0: after each epoch");
  table->Whole("keep", &to->keep, 1, "checkpoints");
}

void AddTogether(TrainOptions* to, OptionTable* table) {
  table->Whole("zero", &to->zero, 0, "1: ranks share out the optimizer's states; 2: gradients too",
               OptionTable::Compared::kYes, 2);
  table->Switch("offload", &to->offload,
                "the optimizer's states are in the PC's memory, and its step is taken there");
  table->Choice("compression", &to->compression, {"none", "bf16", "fp16", "powersgd"},
                "what is sent of gradients");
  table->Whole("powersgd-rank", &to->powersgd_rank, 1, "columns of its factors");
  table->Whole("local-steps", &to->local_steps, 0,
               "steps that each rank takes alone before parameters are averaged; 0: gradients are, "
               "in each step");
  table->Real("outer-lr", &to->outer_lr, 0, "step size of that averaging");
  table->Real("outer-momentum", &to->outer_momentum, 0, "Nesterov momentum of it");
  table->Whole("deadline", &to->deadline, 1,
               "seconds that a rank waits for the others before it says who is missing",
               OptionTable::Compared::kYes, kLongestDeadline);
  table->Whole("min-ranks", &to->min_ranks, 0,
               "where ranks go and as many are left, those make a new group and go on in place; 0: "
               "all leave");
  table->Whole(
      "keep-in-memory", &to->keep_in_memory, 0,
      "steps after which ranks keep what those that are left can go on from in each other's "
      "memory; 0: checkpoints alone");
}

void AddComputing(TrainOptions* to, OptionTable* table) {
  table->Choice("precision", &to->precision, {"fp32", "bf16", "fp16"}, "what is computed in");
  table->Choice("fp32-matmul", &to->fp32_matmul, {"highest", "high"},
                "how exactly a GPU multiplies fp32 matrices; high: in TF32, several times as fast");
  table->Switch("recompute", &to->recompute, "less memory for one more forward pass (charlm)");
  table->Choice(
      "on-nan", &to->on_nan, {"stop", "skip"},
      "a loss or gradient that is not finite ends the training, or that step is left out");
  table->Choice("device", &to->device, {"auto", "cpu", "cuda"},
                "auto: the GPU of number LOCAL_RANK, if there is any; all ranks have one, or none",
                kNotCompared);
  table->Whole("width", &to->width, 1, "of a GPT (charlm), as the next four");
  table->Whole("depth", &to->depth, 1, "layers");
  table->Whole("heads", &to->heads, 1, "of attention; they divide the width");
  table->Whole("context", &to->context, 1, "characters that it sees");
  table->Real("dropout", &to->dropout, 0, "share of activations that is left out");
}

void AddLocal(TrainOptions* to, OptionTable* table) {
  table->Whole("workers", &to->workers, 0, "threads that load data ahead; 0: none", kNotCompared,
               kMostWorkers);
  table->Whole("threads", &to->threads, 0, "that compute; 0: one for each core", kNotCompared,
               kMostThreads);
  table->Text("summary", &to->summary, "file for the summary, besides standard output",
              kNotCompared);
  table->Text("task-options", &to->task_options, "any text, for a task of your own");
}

}  // namespace

OptionTable TableOf(TrainOptions* options) {
  OptionTable table;
  AddTraining(options, &table);
  AddCheckpoints(options, &table);
  AddTogether(options, &table);
  AddComputing(options, &table);
  AddLocal(options, &table);
  return table;
}

}  // namespace hpc::train
