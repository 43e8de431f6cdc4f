// Where a command writes: buffered, and aware of whether a person is looking.
#ifndef HPC_CLIENT_CLI_OUTPUT_H_
#define HPC_CLIENT_CLI_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hpc::client {

class Output {
 public:
  // Writes to `fd`. Colours and line width are taken from the terminal, if it is one; NO_COLOR and
  // TERM=dumb turn colours off.
  static Output ForFd(int fd);
  // Keeps everything in text(), as if written to a terminal `width` wide (0: to a pipe).
  static Output ToText(int width = 0);

  // Queued, and written when much has gathered or on Flush.
  void Write(absl::string_view text);
  void Flush();

  bool terminal() const { return terminal_; }
  bool colours() const { return colours_; }
  // Columns of the terminal; 0 when there is none.
  int width() const { return width_; }

  // The first failure to write (a full disk); everything after it is dropped.
  const absl::Status& status() const { return status_; }
  // What ToText has kept.
  const std::string& text() const { return buffer_; }

 private:
  Output(int fd, bool terminal, bool colours, int width)
      : fd_(fd), terminal_(terminal), colours_(colours), width_(width) {}
  int fd_;  // -1: kept in the buffer
  bool terminal_, colours_;
  int width_;
  std::string buffer_;
  absl::Status status_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_OUTPUT_H_
