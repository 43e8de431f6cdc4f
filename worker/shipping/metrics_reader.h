// Reads a rank's metrics file as lines that only ever grow in number, whatever the rank's program
// does to the file.
#ifndef HPC_WORKER_SHIPPING_METRICS_READER_H_
#define HPC_WORKER_SHIPPING_METRICS_READER_H_

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// If the file is cut, written anew or replaced by another one, it is read from its beginning. (If
// it is written anew and begins with what it held before, reading just goes on.) Offsets count all
// bytes that were ever read, so they go on growing; the offset at which the file begins is kept for
// the next worker.
class MetricsReader {
 public:
  // A line longer than this is given without its text.
  static constexpr int64_t kMaxLineBytes = 64 << 10;
  static constexpr int64_t kPieceBytes = 256 << 10;

  struct Line {
    absl::string_view text;
    bool too_long = false;
    int64_t number = 0;  // number of the line in the file, from 0
    int64_t end = 0;     // offset behind the line
    absl::Time written;  // when it was written, or a moment between that and the next Look
  };

  // `base_file` keeps the offset at which the file begins, out of reach of whoever writes `path`.
  // `known`: a worker before us may have written it.
  MetricsReader(const std::string& path, const std::string& base_file, bool known);

  // Notes how far the file has grown, and when. If this is called now and then, lines that are
  // written while nothing is read keep their time.
  void Look(absl::Time now);
  // Gives complete lines to `take`, at most kPieceBytes of them. Returns true if there may be more
  // already. `ended`: nobody writes any more, so a last line without its end counts, too.
  bool Read(bool ended, const std::function<void(const Line&)>& take);
  // Goes on from an offset that was reached before. Returns how many bytes behind it are lost
  // because the file was cut or replaced since.
  int64_t Seek(int64_t offset);
  // Nothing before this offset will be asked for again.
  void Forget(int64_t offset);
  void Close() { file_.Reset(); }

  // The offset behind the last line given.
  int64_t offset() const { return base_ + position_; }
  // What happened to the file since the last call, as "was cut ..."; "" if nothing.
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
  int64_t position_ = 0;   // of the next byte to read, in the file
  int64_t line_ = 0;       // number of the line at position_
  bool skipping_ = false;  // inside a line that is too long
  bool replaced_ = false;  // another file has its name now
  absl::Time now_;
  std::string tail_;        // the last bytes read before position_
  std::deque<Mark> marks_;  // how far the file had grown, and when
  std::string remark_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SHIPPING_METRICS_READER_H_
