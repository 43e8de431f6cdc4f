// Finds out everything about an attempt that can be known before anything is started.
#ifndef HPC_WORKER_ATTEMPTS_PREPARE_PLAN_H_
#define HPC_WORKER_ATTEMPTS_PREPARE_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protocol/prepare.h"
#include "worker/attempts/spare_folders.h"
#include "worker/core/rank_environment.h"
#include "worker/os/account.h"
#include "worker/os/seams.h"
#include "worker/supervisor_client/attempt_record.h"

namespace hpc::worker {

// Turns an error of the node itself into Unavailable, with the node's name before the words, so
// that another node is taken. Such an error has nothing to do with what the run has asked for. OK
// stays OK.
absl::Status OfThisNode(const std::string& node, const absl::Status& status);

struct PreparePlan {
  // Not OK: the attempt cannot run here. The coordinator's PreparedReport explains the codes.
  absl::Status status;
  std::string program;  // resolved path
  RankPrograms ranks;
  PythonFacts python;
  std::vector<protocol::FoundCheckpoint> checkpoints;  // see protocol::Prepared
  std::optional<AccountIds> account;  // the account that ranks run as; not set: the worker's own
};

struct PrepareContext {
  std::string state_dir;
  LocalFacts facts;
  PythonProbe* python = nullptr;
  const Accounts* accounts = nullptr;
  std::string supervisor_program;
  std::shared_ptr<SpareFolders> spares;
  std::vector<RecordLine> record;  // what else a worker must record of the attempt
};

// Checks the directory, the command and the disk, looks at the interpreter, and makes the attempt's
// files. It does all this with the rights of the account that the ranks will run as. It may block.
// After a failure nothing is left behind.
PreparePlan MakePreparePlan(const protocol::Prepare& prepare, const PrepareContext& context);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PREPARE_PLAN_H_
