#include "train/program/options/remembered_traits.h"

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/checkpoint/checkpoint_manifest.h"

namespace hpc::train {
namespace {

constexpr char kData[] = "data";

std::string KeyOfTrait(const std::string& name) { return absl::StrCat("model.", name); }

}  // namespace

Traits RememberedTraits(const Traits& of_model, const std::string& data) {
  Traits remembered = {{kData, data}};
  for (const auto& [name, value] : of_model) remembered[KeyOfTrait(name)] = value;
  return remembered;
}

void CheckTraits(int64_t step, const Traits& remembered, const Traits& of_model) {
  for (const auto& [name, here] : of_model) {
    const auto there = remembered.find(KeyOfTrait(name));
    if (there == remembered.end() || there->second == here) continue;
    throw CheckpointError(
        absl::StrCat("the checkpoint of step ", step, " is of another model: ", name, " is ",
                     OneLine(there->second), " in the checkpoint and ", here,
                     " in the model; say another --checkpoint-dir, or delete the checkpoint"));
  }
}

std::string DataThatDiffers(const Traits& remembered, const std::string& data) {
  const auto before = remembered.find(kData);
  if (before == remembered.end() || before->second == data) return "";
  return absl::StrCat(data, " (was ", OneLine(before->second), ")");
}

}  // namespace hpc::train
