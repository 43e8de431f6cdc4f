#include "coordinator/core/gangs/checkpoint_folders.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {

std::string DifferenceInWords(const std::vector<CheckpointFolder>& folders) {
  std::map<std::string, std::vector<std::string>> nodes_with;
  for (const CheckpointFolder& folder : folders) {
    for (const std::string& name : folder.names) nodes_with[name].push_back(folder.node);
  }
  for (const auto& [name, nodes] : nodes_with) {
    if (nodes.size() == folders.size()) continue;
    std::vector<std::string> without;
    for (const CheckpointFolder& folder : folders) {
      if (std::count(nodes.begin(), nodes.end(), folder.node) == 0) without.push_back(folder.node);
    }
    return absl::StrCat(
        "in $HPC_CHECKPOINT_DIR, ", OneLine(name), " is on ", JoinWords(nodes), " and not on ",
        JoinWords(without),
        ": ranks that each look for it begin anew there and go on elsewhere, unless they agree "
        "first (docs/SCRIPTS.md, 'Going on after a restart')");
  }
  return "";
}

}  // namespace hpc::coordinator
