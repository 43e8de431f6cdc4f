// Puts a label before each line of each rank's output, and never mixes two lines however the pieces
// arrive. Pure.
#ifndef HPC_CLIENT_CLI_FOLLOW_LINE_LABELLER_H_
#define HPC_CLIENT_CLI_FOLLOW_LINE_LABELLER_H_

#include <map>
#include <string>
#include <tuple>

#include "absl/strings/string_view.h"

namespace hpc::client {

// One rank's stdout or stderr in one attempt.
struct StreamId {
  int attempt = 0;
  int rank = 0;
  bool is_stderr = false;

  auto Key() const { return std::tie(attempt, rank, is_stderr); }
  friend bool operator<(const StreamId& a, const StreamId& b) { return a.Key() < b.Key(); }
};

class LineLabeller {
 public:
  // Returns the lines that `data` completes, each behind `label`, and keeps an unfinished one. A
  // line ends with "\n", "\r\n" or "\r", and is written with "\n". So each state of a progress bar
  // becomes a line, but an empty state does not. A line of more than 64 KiB is written as several.
  // With an empty label the bytes are not changed, and only wait for the end of their line.
  std::string Add(const StreamId& stream, absl::string_view label, absl::string_view data);

  // Hands the unfinished lines to `write`, one stream after another. If labelled, each becomes a
  // whole line.
  template <typename Write>
  void Finish(Write write) {
    for (auto& [stream, partial] : partial_) {
      if (partial.text.empty()) continue;
      write(stream, partial.label + partial.text + (partial.label.empty() ? "" : "\n"));
    }
    partial_.clear();
  }

 private:
  struct Partial {
    std::string text;
    std::string label;
    bool after_return = false;  // "\r" was the last byte: a "\n" now belongs to it
  };
  static std::string AddPlain(absl::string_view data, Partial* partial);

  std::map<StreamId, Partial> partial_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_LINE_LABELLER_H_
