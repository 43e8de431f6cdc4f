#include "coordinator/core/gangs/checkpoint_folders.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

// All nodes of a gang save at about the same time. What they save may be large, and disks differ.
constexpr absl::Duration kOneSave = absl::Minutes(1);

struct Copy {
  std::string node;
  absl::Duration age;
};
using CopiesByName = std::map<std::string, std::vector<Copy>>;

CopiesByName ByName(const std::vector<CheckpointFolder>& folders) {
  CopiesByName copies;
  for (const CheckpointFolder& folder : folders) {
    for (const protocol::FoundCheckpoint& found : folder.found) {
      copies[found.name].push_back({folder.node, found.age});
    }
  }
  return copies;
}

std::string Missing(const std::vector<CheckpointFolder>& folders, const CopiesByName& by_name) {
  for (const auto& [name, copies] : by_name) {
    if (copies.size() == folders.size()) continue;
    std::vector<std::string> with, without;
    for (const CheckpointFolder& folder : folders) {
      const bool has = std::any_of(copies.begin(), copies.end(), [&folder](const Copy& copy) {
        return copy.node == folder.node;
      });
      (has ? with : without).push_back(folder.node);
    }
    return absl::StrCat(OneLine(name), " is on ", JoinWords(with), " and not on ",
                        JoinWords(without),
                        ": ranks that each look for it begin anew there and go on elsewhere");
  }
  return "";
}

absl::Duration AgeOfNewest(const CheckpointFolder& folder) {
  absl::Duration newest = absl::InfiniteDuration();
  for (const protocol::FoundCheckpoint& found : folder.found) newest = std::min(newest, found.age);
  return newest;
}

// Looks at the newest that each node has. Other files may be written once for each attempt, such as
// a config.json, and are of different ages where all have the same checkpoints.
std::string Outdated(const std::vector<CheckpointFolder>& folders, const CopiesByName& by_name) {
  const auto younger = [](const CheckpointFolder& a, const CheckpointFolder& b) {
    return AgeOfNewest(a) < AgeOfNewest(b);
  };
  const auto [ahead, behind] = std::minmax_element(folders.begin(), folders.end(), younger);
  if (ahead == folders.end() || ahead->found.empty() ||
      AgeOfNewest(*behind) - AgeOfNewest(*ahead) <= kOneSave) {
    return "";
  }
  const auto newest = std::min_element(ahead->found.begin(), ahead->found.end(),
                                       [](const auto& a, const auto& b) { return a.age < b.age; });
  const std::vector<Copy>& copies = by_name.at(newest->name);
  const std::string& node = behind->node;
  const auto old = std::find_if(copies.begin(), copies.end(),
                                [&node](const Copy& copy) { return copy.node == node; });
  if (old == copies.end()) return "";
  return absl::StrCat(OneLine(newest->name), " on ", behind->node, " is ",
                      HumanDuration(old->age - newest->age), " older than on ", ahead->node,
                      ": ranks that each load it go on from different steps");
}

}  // namespace

std::string DifferenceInWords(const std::vector<CheckpointFolder>& folders) {
  const CopiesByName by_name = ByName(folders);
  std::string words = Missing(folders, by_name);
  if (words.empty()) words = Outdated(folders, by_name);
  if (words.empty()) return "";
  return absl::StrCat("in $HPC_CHECKPOINT_DIR, ", words,
                      ", unless they agree first (docs/SCRIPTS.md, 'Going on after a restart')");
}

}  // namespace hpc::coordinator
