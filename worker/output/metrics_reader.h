// A rank's metrics file as lines that only ever grow in number, whatever its program does to it.
#ifndef HPC_WORKER_OUTPUT_METRICS_READER_H_
#define HPC_WORKER_OUTPUT_METRICS_READER_H_

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// A file that is cut or written anew, or has another put in its place, is read from its beginning
// (written anew with what it held before and more, it just goes on). Offsets count
// all that was ever read, so they go on; what they count from is kept for the next worker.
class MetricsReader {
 public:
  // A longer line is given without its text.
  static constexpr int64_t kMaxLineBytes = 64 << 10;
  static constexpr int64_t kPieceBytes = 256 << 10;

  struct Line {
    absl::string_view text;
    bool too_long = false;
    int64_t number = 0;  // in the file, from 0
    int64_t end = 0;     // offset behind it
    absl::Time written;  // or a moment before `now` of the Look after it
  };

  // `base_file`: where it keeps what offsets count from, out of reach of whoever writes `path`.
  // `known`: a worker before us may have.
  MetricsReader(const std::string& path, const std::string& base_file, bool known);

  // Sees how far the file has grown, and when. What is written while nothing is read keeps its time
  // if this is called now and then.
  void Look(absl::Time now);
  // Gives complete lines to `take`, at most kPieceBytes of them; true if there may be more already.
  // `ended`: nobody writes any more, so a last line without its end counts too.
  bool Read(bool ended, const std::function<void(const Line&)>& take);
  // Goes on from an offset reached before. Returns how many bytes behind it are gone with a file
  // that was cut or replaced since.
  int64_t Seek(int64_t offset);
  // Nothing before this offset will be asked for again.
  void Forget(int64_t offset);
  void Close() { file_.Reset(); }

  // Behind the last line given.
  int64_t offset() const { return base_ + position_; }
  // What was done to the file since the last call, as "was cut ..."; "" if nothing.
  std::string TakeRemark() { return std::exchange(remark_, ""); }

 private:
  struct Mark {
    int64_t end = 0;
    absl::Time at;
  };
  void Open();
  void BeginAnew(const std::string& remark);
  bool IsInPlace() const;
  absl::Time WrittenAt(int64_t end) const;
  int64_t CountLines(int64_t end) const;
  bool AtLineBegin() const;
  std::string BytesBefore(int64_t position, size_t count) const;

  const std::string path_;
  const std::string base_file_;
  UniqueFd file_;
  int64_t base_ = 0;       // offset of the file's first byte
  int64_t position_ = 0;   // in the file
  int64_t line_ = 0;       // number of the line there
  bool skipping_ = false;  // in a line that is too long
  bool replaced_ = false;  // another file has its name
  absl::Time now_;
  std::string tail_;        // the last bytes that were read before it
  std::deque<Mark> marks_;  // how far it had grown, and when
  std::string remark_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OUTPUT_METRICS_READER_H_
