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
  // The complete lines that `data` ends or holds, each behind `label`; an unfinished one is kept.
  // A line ends with "\n", "\r\n" or "\r" (a progress bar's next state becomes the next line; a
  // "\r" alone is no line) and is written with "\n". A line of more than 64 KiB is written in
  // several. With an empty label nothing is added or changed: the bytes only wait for the end of
  // their line.
  std::string Add(const StreamId& stream, absl::string_view label, absl::string_view data);

  // What is unfinished, one stream after another: `write` gets each, as a whole line if labelled.
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
