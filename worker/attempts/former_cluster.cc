#include "worker/attempts/former_cluster.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "worker/attempts/attempt_files.h"

namespace hpc::worker {
namespace {

// A name that is not taken yet: a PC may leave and join more than once.
std::string FreeName(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; access(name.c_str(), F_OK) == 0; ++i) name = absl::StrCat(wanted, "-", i);
  return name;
}

}  // namespace

absl::StatusOr<std::string> SetAsideFormerCluster(const std::string& state_dir,
                                                  const std::string& cluster) {
  for (const std::string& attempt : ListAttempts(state_dir)) {
    HPC_RETURN_IF_ERROR(RemoveAttemptDir(absl::StrCat(state_dir, "/attempts/", attempt)));
  }
  const std::string runs = state_dir + "/runs";
  if (rmdir(runs.c_str()) == 0 || errno == ENOENT) return "";
  const std::string aside = FreeName(absl::StrCat(state_dir, "/runs-of-", cluster));
  if (rename(runs.c_str(), aside.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", runs, " to ", aside));
  }
  unlink((state_dir + "/runs.json").c_str());
  HPC_RETURN_IF_ERROR(Sync(state_dir));
  return aside;
}

}  // namespace hpc::worker
