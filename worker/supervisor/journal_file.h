// The supervisor's side of the journal: appends lines.
#ifndef HPC_WORKER_SUPERVISOR_JOURNAL_FILE_H_
#define HPC_WORKER_SUPERVISOR_JOURNAL_FILE_H_

#include <string>

#include "common/unique_fd.h"
#include "worker/supervisor/journal_line.h"

namespace hpc::worker {

class JournalFile {
 public:
  // Goes on in `file`, with room for an attempt's usual lines set aside, so that a disk that fills
  // up later does not cost an exit code.
  void Adopt(UniqueFd file);

  void Add(const JournalHeader& header) { AddLine(JournalLine(header)); }
  void Add(const SupervisorEvent& event) { AddLine(JournalLine(event)); }

  // Appends what was added since, in one write. What a full disk refuses is kept and tried again
  // the next time.
  void Write();
  // Makes it survive a power cut too. Takes milliseconds on some disks.
  void Sync();

 private:
  void AddLine(const std::string& line);

  UniqueFd file_;
  std::string pending_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_JOURNAL_FILE_H_
