// The supervisor's side of the journal, which appends lines. Each method may wait for the disk.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_JOURNAL_FILE_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_JOURNAL_FILE_H_

#include <string>

#include "common/unique_fd.h"

namespace hpc::worker {

class JournalFile {
 public:
  // Goes on in `file`. Sets space aside for the usual lines of an attempt with this many ranks, so
  // that a disk that fills up later does not cost an exit code.
  void Adopt(UniqueFd file, size_t ranks);

  // `lines` must be complete lines.
  void Add(const std::string& lines) { pending_ += lines; }

  // Appends what was added since the last call, in one write. False: a full disk has refused some
  // of it; that part is kept and tried again the next time.
  bool Write();
  // Makes the journal survive a power cut, too. Takes milliseconds on some disks.
  void Sync();

 private:
  UniqueFd file_;
  std::string pending_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_JOURNAL_FILE_H_
