#include "train/program/options/remembered_options.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hpc::train {
namespace {

constexpr const char* kNames[] = {"seed",        "batch",    "epochs",       "optimizer",
                                  "lr",          "momentum", "weight-decay", "clip",
                                  "warmup",      "schedule", "precision",    "compression",
                                  "local-steps", "outer-lr", "dropout",      "task-options"};

std::string KeyOf(const std::string& name) { return absl::StrCat("option.", name); }

}  // namespace

std::map<std::string, std::string> RememberedOptions(TrainOptions options) {
  const OptionTable table = TableOf(&options);
  std::map<std::string, std::string> remembered;
  for (const char* name : kNames) remembered[KeyOf(name)] = table.Shown(name);
  return remembered;
}

std::string OptionsThatDiffer(const std::map<std::string, std::string>& remembered,
                              const TrainOptions& now) {
  const std::map<std::string, std::string> mine = RememberedOptions(now);
  auto before = [&](const std::string& name) {
    const auto found = remembered.find(KeyOf(name));
    return found == remembered.end() ? mine.at(KeyOf(name)) : found->second;
  };
  std::vector<std::string> differ;
  for (const std::string name : kNames) {
    // More epochs only matter with a schedule that ends with them.
    if (name == "epochs" && now.schedule != "cosine") continue;
    if (name == "momentum" && now.optimizer != "sgd") continue;
    if (name == "outer-lr" && now.local_steps == 0) continue;
    const std::string here = mine.at(KeyOf(name)), there = before(name);
    if (here == there) continue;
    differ.push_back(absl::StrCat("--", name, " ", here.empty() ? "''" : here, " (was ",
                                  there.empty() ? "''" : there, ")"));
  }
  return absl::StrJoin(differ, ", ");
}

}  // namespace hpc::train
