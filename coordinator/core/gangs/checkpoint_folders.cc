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

std::string Outdated(const CopiesByName& by_name) {
  for (const auto& [name, copies] : by_name) {
    const auto [newest, oldest] = std::minmax_element(
        copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.age < b.age; });
    if (oldest->age - newest->age <= kOneSave) continue;
    return absl::StrCat(OneLine(name), " on ", oldest->node, " is ",
                        HumanDuration(oldest->age - newest->age), " older than on ", newest->node,
                        ": ranks that each load it go on from different steps");
  }
  return "";
}

}  // namespace

std::string DifferenceInWords(const std::vector<CheckpointFolder>& folders) {
  const CopiesByName by_name = ByName(folders);
  std::string words = Missing(folders, by_name);
  if (words.empty()) words = Outdated(by_name);
  if (words.empty()) return "";
  return absl::StrCat("in $HPC_CHECKPOINT_DIR, ", words,
                      ", unless they agree first (docs/SCRIPTS.md, 'Going on after a restart')");
}

}  // namespace hpc::coordinator
