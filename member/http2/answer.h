// The coordinator's answer to one call of gRPC, as it arrives over HTTP/2. Pure.
#ifndef HPC_MEMBER_HTTP2_ANSWER_H_
#define HPC_MEMBER_HTTP2_ANSWER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::wire {

// A call is over when AddHeader gets "grpc-status", or else by Reset.
class Answer {
 public:
  using Sink = absl::FunctionRef<absl::Status(absl::string_view message)>;

  // Takes one of the headers or trailers.
  void AddHeader(absl::string_view name, absl::string_view value);
  void AddData(absl::string_view bytes);
  // Hands on whole messages, as many as have arrived, but starts none after `most` bytes. Returns
  // how many bytes it handed on. Errors are those of `sink`. Internal: a message is compressed,
  // which nobody asked for, or larger than any of the coordinator's.
  absl::StatusOr<size_t> TakeMessages(size_t most, Sink sink);
  // How many bytes have arrived and have not been taken.
  size_t left() const { return data_.size() - taken_; }

  // Notes that the stream ended without trailers, for this reason of HTTP/2.
  void Reset(uint32_t error_code);
  // Returns how the call ended, in the coordinator's words. Before it is over: Internal.
  absl::Status status() const;

 private:
  std::string data_;  // starts at the beginning of a message
  size_t taken_ = 0;  // how much of data_ has been taken
  std::string http_status_, grpc_status_, grpc_message_;
  absl::Status reset_ = absl::InternalError("the answer has no end");
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_HTTP2_ANSWER_H_
