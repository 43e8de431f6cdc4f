// Turns the bytes of one client into its requests, however the bytes are cut.
#ifndef HPC_WORKER_RENDEZVOUS_REQUEST_PARSER_H_
#define HPC_WORKER_RENDEZVOUS_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/rendezvous/store_bytes.h"

namespace hpc::worker::store {

// A client that begins with VALIDATE speaks the new numbering; any other one speaks that of torch
// <= 2.1. VALIDATE itself is not handed out. MULTI_GET and MULTI_SET come out as single GETs and
// SETs: their answers are the same bytes, and no more than one value is ever held.
//
// Memory follows the bytes that came, never a length that was only announced. It holds at most what
// Append was given since Next last returned no request, plus one value or one list of keys.
class RequestParser {
 public:
  void Append(absl::string_view bytes);

  // Returns the next complete request, or nullopt if more bytes are needed. InvalidArgument: the
  // client broke the protocol (says how). Every later call then returns the same.
  absl::StatusOr<std::optional<Request>> Next();

  // The number of bytes that came and were not handed out yet.
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  enum class Dialect { kUnknown, kLegacy, kNew };
  enum class Field : uint8_t;
  struct Shape;

  // Each of these returns false if more bytes are needed.
  absl::StatusOr<bool> DetectDialect();
  absl::StatusOr<bool> ReadRequest();
  absl::StatusOr<bool> ReadOp();
  absl::StatusOr<bool> ReadRepeats();
  absl::StatusOr<bool> ReadFields();
  absl::StatusOr<bool> ReadField(Field field);
  absl::StatusOr<bool> ReadText(absl::string_view what, size_t max_bytes, std::string* text);
  absl::StatusOr<bool> ReadCount(uint64_t* count);
  absl::StatusOr<bool> ReadKeyList();

  static const Shape& ShapeOf(Op op);
  absl::string_view rest() const { return absl::string_view(buffer_).substr(begin_); }
  void Consume(size_t bytes);
  void BeginRepeat();  // the next GET or SET of a MULTI_GET or MULTI_SET, if there is one
  Request TakeRequest();

  std::string buffer_;
  size_t begin_ = 0;  // where the bytes begin that were not consumed yet
  Dialect dialect_ = Dialect::kUnknown;
  absl::Status broken_;

  // The state of the request that is being read.
  bool in_request_ = false;
  Request request_;
  size_t field_ = 0;                   // the next one to read
  std::optional<uint64_t> length_;     // of the text being read
  std::optional<uint64_t> keys_left_;  // of the key list being read
  size_t key_list_bytes_ = 0;
  uint64_t repeats_left_ = 0;  // further GETs or SETs of a MULTI_GET or MULTI_SET
};

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_REQUEST_PARSER_H_
