// Why a rank failed, in its own words.
#ifndef HPC_WORKER_ATTEMPTS_RANK_REPORT_H_
#define HPC_WORKER_ATTEMPTS_RANK_REPORT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace hpc::worker {

struct RankReport {
  std::string message;
  std::string traceback;
};

// Parses what a program wrote to TORCHELASTIC_ERROR_FILE, in PyTorch's Python form or its C++ form.
// nullopt: it is neither.
std::optional<RankReport> ParseErrorFile(absl::string_view text);

// The last lines of a text: at most `lines` lines and `bytes` bytes, without blank lines at the
// end.
std::string LastLines(absl::string_view text, int lines, size_t bytes);

// Longer error files are not read.
inline constexpr size_t kMaxErrorFile = 1 << 20;

// The rank's error file; nullopt if it wrote none.
std::optional<RankReport> ReadErrorFile(const std::string& attempt_dir, int32_t rank);

// How many last lines of a text a message may hold, and how many bytes.
inline constexpr int kLastLines = 20;
inline constexpr size_t kMaxWords = 16 << 10;

// The end of the rank's stderr as far as it is on disk, at most four times kMaxWords.
std::string ReadStderrEnd(const std::string& attempt_dir, int32_t rank);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_RANK_REPORT_H_
