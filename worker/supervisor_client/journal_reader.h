// Reads the journal of an attempt from the disk, after its supervisor is gone.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_JOURNAL_READER_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_JOURNAL_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/supervisor/protocol/journal_line.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

struct Journal {
  std::optional<JournalHeader> header;
  std::vector<SupervisorEvent> events;  // in order, without OutputGrown
  std::vector<OutputGrown> cuts;        // streams that were cut at their limit

  bool AllGone() const;
};

// Reads the journal of the attempt with that dir. NotFound: there is none, or it belongs to another
// attempt, which had the folder before. A torn last line, and lines that are not ours, are ignored.
absl::StatusOr<Journal> ReadJournalFile(const std::string& dir);
// Whether its supervisor began before this boot of the machine. False where the journal does not
// tell.
bool BeganInAnotherBoot(const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_JOURNAL_READER_H_
