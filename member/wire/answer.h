// What the coordinator answers to one call of gRPC, as it comes over HTTP/2. Pure.
#ifndef HPC_MEMBER_WIRE_ANSWER_H_
#define HPC_MEMBER_WIRE_ANSWER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::wire {

// A call is over with AddHeader's "grpc-status", or else by Reset.
class Answer {
 public:
  using Sink = absl::FunctionRef<absl::Status(absl::string_view message)>;

  // Of the headers or trailers.
  void AddHeader(absl::string_view name, absl::string_view value);
  void AddData(absl::string_view bytes);
  // Hands whole messages on, as many as are here, but none after `most` bytes: how many bytes those
  // were. Errors of `sink`; Internal: a compressed message, which nobody asked for, or one that is
  // larger than any of the coordinator's.
  absl::StatusOr<size_t> TakeMessages(size_t most, Sink sink);
  // What is here and has not been taken.
  size_t left() const { return data_.size() - taken_; }

  // The stream ended without trailers, for this reason of HTTP/2.
  void Reset(uint32_t error_code);
  // The end of the call, in the coordinator's words. Before it is over: Internal.
  absl::Status status() const;

 private:
  std::string data_;  // from the beginning of a message on
  size_t taken_ = 0;  // of data_
  std::string http_status_, grpc_status_, grpc_message_;
  absl::Status reset_ = absl::InternalError("the answer has no end");
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_WIRE_ANSWER_H_
