#include "coordinator/restore_command.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/store/backup/backup_restorer.h"

namespace hpc::coordinator {

absl::StatusOr<std::string> RunRestoreCommand(const Options& options, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(const RestoredBackup restored,
                       RestoreBackup(options.restore_from, options.state_dir, now));
  std::string text =
      absl::StrCat("restored ", options.state_dir, " as of ", HumanTime(restored.made_at), ": ",
                   Count(restored.runs, "run"), ", ", restored.live_runs, " of them not over",
                   restored.with_logs ? "" : "; without output of ranks", "\n");
  if (!restored.has_authority) {
    absl::StrAppend(&text,
                    "The authority's key is not in the backup: start with --authority-key\n");
  }
  absl::StrAppend(
      &text, "New runs begin at number ", restored.next_run,
      ", since the backup does not know which were given out after it.\n",
      "Members that were shut out after the backup are members again, and tokens are "
      "void: see 'hpcctl cert list'.\n",
      "Make sure that the old coordinator does not run any more, then start this one:\n",
      "  hpc-coordinator --state-dir ", options.state_dir, " --listen ADDR:PORT\n");
  return text;
}

}  // namespace hpc::coordinator
