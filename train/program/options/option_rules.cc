#include "train/program/options/option_rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::train {
namespace {

struct Rates {
  double lr, weight_decay;
};

// The defaults of PyTorch. SGD has none there, so it gets values that do little harm.
Rates CommonRatesOf(const std::string& optimizer) {
  if (optimizer == "sgd") return {.lr = 0.01, .weight_decay = 0};
  return {.lr = 1e-3, .weight_decay = optimizer == "adamw" ? 0.01 : 0};
}

}  // namespace

void SetRatesOfOptimizer(const std::string& of_task, const OptionTable& table,
                         TrainOptions* options) {
  if (options->optimizer == of_task) return;
  const Rates rates = CommonRatesOf(options->optimizer);
  if (!table.Said("lr")) options->lr = rates.lr;
  if (!table.Said("weight-decay")) options->weight_decay = rates.weight_decay;
}

std::string HowItTrains(const TrainOptions& options) {
  return absl::StrCat(options.optimizer, " lr ", options.lr, " ", options.schedule, ", batch ",
                      options.batch);
}

void CheckTogether(const TrainOptions& options, int ranks) {
  if (options.keep_in_memory > 0 && options.min_ranks == 0) {
    throw UsageError("--keep-in-memory is for ranks that go on in place: say --min-ranks too");
  }
  if (options.zero > 0 && options.local_steps > 0) {
    throw UsageError(
        "--zero shares out one optimizer, but with --local-steps each rank has its own: say one of "
        "them");
  }
  if (options.zero == 2 && options.compression != "none") {
    throw UsageError("--compression is of gradients that all ranks get: it needs --zero 0 or 1");
  }
  const std::vector<double>& shares = options.shares;
  if (shares.empty()) return;
  if (shares.size() != static_cast<size_t>(ranks)) {
    throw UsageError(absl::StrCat("--shares has ", shares.size(), " parts of the batch for ",
                                  Count(ranks, "rank"), ": say one for each rank"));
  }
  if (std::all_of(shares.begin(), shares.end(), [](double share) { return share == 0; })) {
    throw UsageError("--shares are all 0: one is to be more");
  }
  if (!std::isfinite(std::accumulate(shares.begin(), shares.end(), 0.0))) {
    throw UsageError("--shares are too large: their sum is infinite");
  }
}

std::vector<std::string> WithoutEffect(const TrainOptions& options, const OptionTable& table,
                                       const std::string& task, const std::set<std::string>& unused,
                                       bool has_folder, int ranks) {
  std::vector<std::pair<std::string, std::string>> idle;  // each has a name and the reason
  for (const std::string& name : unused) idle.emplace_back(name, task + " has no use for it");
  if (options.optimizer != "sgd") {
    idle.emplace_back("momentum", "it is of sgd, and --optimizer is " + options.optimizer);
  }
  if (options.compression != "powersgd") {
    idle.emplace_back("powersgd-rank", "it is of --compression powersgd");
  }
  if (options.local_steps == 0) {
    idle.emplace_back("outer-lr", "it is of --local-steps");
    idle.emplace_back("outer-momentum", "it is of --local-steps");
  }
  if (!has_folder) {
    idle.emplace_back("checkpoint-every", "there is no --checkpoint-dir");
    if (options.keep_in_memory == 0) {
      idle.emplace_back("min-ranks",
                        "there is nothing to go on from: say --checkpoint-dir or --keep-in-memory");
    }
    idle.emplace_back("keep", "there is no --checkpoint-dir");
  }
  // This is not an error: when PCs are missing, the same command starts fewer ranks.
  if (options.min_ranks > ranks) {
    idle.emplace_back("min-ranks",
                      absl::StrCat("as many are never left of ", Count(ranks, "rank")));
  }
  if (!options.model.empty()) {
    for (const char* name : {"width", "depth", "heads", "dropout", "recompute"}) {
      if (unused.count(name) == 0) idle.emplace_back(name, "it is of the task's net, not --model");
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, why] : idle) {
    if (table.Said(name)) lines.push_back(absl::StrCat("--", name, " does nothing: ", why));
  }
  return lines;
}

}  // namespace hpc::train
