// One output of one rank: a pipe whose other end the rank writes to, and the file it ends up in.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_OUTPUT_STREAM_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_OUTPUT_STREAM_H_

#include <cstdint>
#include <string>

#include "common/unique_fd.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// Pump and Finish write to a disk: they belong to the thread that does that, as soon as one has
// begun, and the pipe's ends to the supervisor's own thread.
class OutputStream {
 public:
  OutputStream(int32_t rank, bool is_stderr, int64_t limit);

  // Makes the pipe. False: errno says why not.
  bool Open();

  // For the rank.
  int write_fd() const { return write_.get(); }
  void CloseWriteEnd() { write_.Reset(); }
  // To watch.
  int read_fd() const { return read_.get(); }

  // Moves what is in the pipe (no more than a few pipefuls, so that others get their turn) to the
  // file "rank-0.out" or "rank-0.err" in the current folder, which is made with its first byte.
  // What is beyond the limit, what the disk refuses, and all of it where something has that name
  // already, is counted and dropped, so that the rank never waits for the disk's owner; once the
  // disk takes more again, a line in the file tells of what is missing there. Returns the bytes
  // taken out of the pipe.
  int64_t Pump();
  // Nobody is left who could write: takes what there is and ends. As Pump.
  int64_t Finish();

  // Ends one that nobody has ever written to and nobody is left who could. False: there is
  // something to take, or there may still be. Touches no disk: for the supervisor's own thread
  // while the other has nothing to do with the stream.
  bool EndIfUnused();

  // Why the disk refused the last that it was to take; 0: it did not.
  int refusal() const { return refusal_; }
  // As it stands now.
  OutputGrown State() const;
  bool ended() const { return ended_; }

 private:
  bool OpenFile();
  // Bytes of `data` that went into the file.
  int64_t Store(const char* data, int64_t size);
  bool MarkGap();

  const int32_t rank_;
  const bool is_stderr_;
  const int64_t limit_;
  UniqueFd read_, write_, file_;
  int64_t bytes_ = 0;
  int64_t cut_ = 0;
  int64_t missing_ = 0;  // of that, since the last byte in the file
  int refusal_ = 0;      // errno
  bool ends_line_ = true;
  bool ended_ = false;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_OUTPUT_STREAM_H_
