#include "member/http2/answer.h"

#include <nghttp2/nghttp2.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::wire {
namespace {

// The most memory that is reserved for a message that has not arrived yet, since its announced size
// may be a lie.
constexpr size_t kMostReserved = 16 << 20;
// Larger than any message of the coordinator. Its largest messages tell of one run.
constexpr size_t kMostMessage = 64 << 20;
constexpr size_t kPrefix = 5;  // a byte that says whether it is compressed, and the message's size

uint32_t SizeOf(absl::string_view prefix) {
  uint32_t size = 0;
  for (const char byte : prefix.substr(1, 4)) size = size << 8 | static_cast<unsigned char>(byte);
  return size;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// A "%" that is not followed by two hexadecimal digits stays as it is, as gRPC wants it.
std::string PercentDecoded(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                      HexDigit(text[i + 2]) >= 0;
    if (!code) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
    i += 2;
  }
  return plain;
}

absl::StatusCode CodeOf(uint32_t error_code) {
  switch (error_code) {
    case NGHTTP2_NO_ERROR:
    case NGHTTP2_REFUSED_STREAM:
      return absl::StatusCode::kUnavailable;
    case NGHTTP2_CANCEL:
      return absl::StatusCode::kCancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

void Answer::AddHeader(absl::string_view name, absl::string_view value) {
  std::string* const wanted = name == ":status"        ? &http_status_
                              : name == "grpc-status"  ? &grpc_status_
                              : name == "grpc-message" ? &grpc_message_
                                                       : nullptr;
  if (wanted != nullptr) *wanted = std::string(value);
}

void Answer::AddData(absl::string_view bytes) {
  data_.erase(0, taken_);
  taken_ = 0;
  data_.append(bytes.data(), bytes.size());
  if (data_.size() < kPrefix) return;
  const size_t message = kPrefix + SizeOf(data_);
  if (message > data_.capacity() && message <= kMostReserved) data_.reserve(message);
}

absl::StatusOr<size_t> Answer::TakeMessages(size_t most, Sink sink) {
  const size_t begin = taken_;
  while (left() >= kPrefix && taken_ - begin < most) {
    const absl::string_view next = absl::string_view(data_).substr(taken_);
    if (next[0] != 0) {
      return absl::InternalError("the answer is compressed, which was not asked for");
    }
    const uint32_t size = SizeOf(next);
    if (size > kMostMessage) {
      return absl::InternalError(absl::StrCat("the answer has a message of ", size,
                                              " bytes, of which ", kMostMessage, " are allowed"));
    }
    if (next.size() - kPrefix < size) break;
    taken_ += kPrefix + size;
    HPC_RETURN_IF_ERROR(sink(next.substr(kPrefix, size)));
  }
  return taken_ - begin;
}

void Answer::Reset(uint32_t error_code) {
  reset_ = absl::Status(CodeOf(error_code), absl::StrCat("the call was ended by the coordinator (",
                                                         nghttp2_http2_strerror(error_code), ")"));
}

absl::Status Answer::status() const {
  int code = 0;
  if (absl::SimpleAtoi(grpc_status_, &code)) {
    // Whole messages have been taken before, so what is left is a part of one.
    if (code == 0 && left() > 0) return absl::InternalError("the answer ends within a message");
    return absl::Status(static_cast<absl::StatusCode>(code),
                        ToValidUtf8(PercentDecoded(grpc_message_)));
  }
  if (http_status_.empty() || http_status_ == "200") return reset_;
  return absl::UnknownError(absl::StrCat("the coordinator answers HTTP status ", http_status_));
}

}  // namespace hpc::wire
