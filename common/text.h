// Text that users type or read: names, durations, sizes, suggestions. Pure.
#ifndef HPC_COMMON_TEXT_H_
#define HPC_COMMON_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hpc {

// Returns OK if `text` is valid UTF-8 without NUL. Otherwise returns InvalidArgument: "<what> is
// not valid UTF-8 (byte 0xff at 3)" or "<what> contains a NUL byte at 3".
absl::Status CheckText(absl::string_view what, absl::string_view text);

// Checks CheckText, and that `name` is not empty, has at most `max_bytes`, and has no control
// characters. It is for names that are printed in tables: node, run, experiment, tag, parameter and
// metric keys.
absl::Status CheckName(absl::string_view what, absl::string_view name, size_t max_bytes = 200);

// Checks a node's name: 1 to 63 of [A-Za-z0-9._-], starting with a letter or digit.
absl::Status CheckNodeName(absl::string_view name);

// Replaces what is not valid UTF-8 by U+FFFD, so that any bytes can be shown or put into JSON.
std::string ToValidUtf8(absl::string_view bytes);

// Returns `text` on one line: control characters, which could move the cursor, become spaces.
std::string OneLine(absl::string_view text);

// Returns whether `text` is all printable ASCII. Such a text is its own OneLine, and each byte is
// one column on a terminal.
bool IsPlain(absl::string_view text);

// Understands "90" (seconds), "90s", "15m", "2h", "1d", "1h30m", "1.5h" and "H:MM:SS", more than 0
// and up to a century. InvalidArgument names the text and shows the forms that are understood.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// Returns the shortest readable form with at most two units: "340 ms", "12.3 s", "4 min 10 s", "2 h
// 5 min".
std::string HumanDuration(absl::Duration d);

// Returns a size for people: "512 B", "1.5 KiB", "12 GiB".
std::string HumanBytes(uint64_t bytes);

// Returns a time in the local time zone: "2026-11-21 07:40:30".
std::string HumanTime(absl::Time t);

// Returns the candidate nearest to `typed` by edit distance (a transposition counts as one edit),
// or "" when none is near enough to be meant.
std::string Nearest(absl::string_view typed, const std::vector<std::string>& candidates);

// Returns "pc1", "pc1 and pc2" or "pc1, pc2 and pc3".
std::string JoinWords(const std::vector<std::string>& words);
// Returns the first `most` words and how many more there are: "pc1, pc2 and 7 more".
std::string JoinSome(std::vector<std::string> words, size_t most);

// Returns "held by anna", or "held" if nobody is known.
std::string DoneBy(absl::string_view deed, absl::string_view who);

// Returns "1 node" or "3 nodes".
std::string Count(int64_t n, absl::string_view singular);

}  // namespace hpc

#endif  // HPC_COMMON_TEXT_H_
