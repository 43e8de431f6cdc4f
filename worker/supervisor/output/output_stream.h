// One output of one rank: a pipe to which the rank writes, and the file in which its output ends
// up.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_OUTPUT_STREAM_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_OUTPUT_STREAM_H_

#include <cstdint>
#include <string>

#include "common/unique_fd.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// Pump and Finish write to a disk. Once a writing thread has begun, only that thread may call them.
// The ends of the pipe belong to the supervisor's own thread.
class OutputStream {
 public:
  OutputStream(int32_t rank, bool is_stderr, int64_t limit);

  // Makes the pipe. False: errno says why not.
  bool Open();

  // The end for the rank.
  int write_fd() const { return write_.get(); }
  void CloseWriteEnd() { write_.Reset(); }
  // The end to watch.
  int read_fd() const { return read_.get(); }

  // Moves what is in the pipe to the file "rank-0.out" or "rank-0.err" in the current folder. The
  // file is made with its first byte. One call moves no more than a few pipefuls, so that others
  // get their turn. Output beyond the limit, and output that the disk refuses, is counted and
  // dropped, so that the rank never waits for the disk. If something else has that file's name
  // already, all output is dropped. Once the disk takes more again, a line in the file says what is
  // missing there. Returns the number of bytes taken out of the pipe.
  int64_t Pump();
  // Nobody is left who could write. Takes what is there, and ends. Returns the same as Pump.
  int64_t Finish();

  // Ends a stream to which nobody has written and nobody can write any more. False: there is
  // something to take, or there may still be. Touches no disk, so the supervisor's own thread may
  // call it while the writing thread has nothing to do with the stream.
  bool EndIfUnused();

  // Why the disk refused the last output; 0: it did not.
  int refusal() const { return refusal_; }
  // The present state.
  OutputGrown State() const;
  bool ended() const { return ended_; }

 private:
  bool OpenFile();
  // Returns how many bytes of `data` went into the file.
  int64_t Store(const char* data, int64_t size);
  bool MarkGap();

  const int32_t rank_;
  const bool is_stderr_;
  const int64_t limit_;
  UniqueFd read_, write_, file_;
  int64_t bytes_ = 0;
  int64_t cut_ = 0;
  int64_t missing_ = 0;  // the part of that since the last byte in the file
  int refusal_ = 0;      // errno
  bool ends_line_ = true;
  bool ended_ = false;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_OUTPUT_STREAM_H_
