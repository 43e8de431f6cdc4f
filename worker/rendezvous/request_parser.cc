#include "worker/rendezvous/request_parser.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::worker::store {

enum class RequestParser::Field : uint8_t {
  kEnd,
  kKey,
  kValue,
  kExpected,
  kInt64,
  kUint32,
  kKeyList,
};

struct RequestParser::Shape {
  std::array<Field, 4> fields;  // up to kEnd
};

namespace {

// An empty buffer that is larger than this (it has held a large value) is freed.
constexpr size_t kKeptBufferBytes = size_t{64} << 10;

// The numbering of torch <= 2.1. It has no VALIDATE, and WATCH_KEY is at 7.
std::optional<Op> LegacyOp(uint8_t type) {
  if (type <= 6) return static_cast<Op>(type + 1);
  if (type >= 8 && type <= 12) return static_cast<Op>(type);
  return std::nullopt;
}

std::optional<Op> NewOp(uint8_t type) {
  if (type > static_cast<uint8_t>(Op::kBarrier)) return std::nullopt;
  return static_cast<Op>(type);
}

}  // namespace

const RequestParser::Shape& RequestParser::ShapeOf(Op op) {
  using F = Field;
  static constexpr Shape kNone{{F::kEnd}};
  static constexpr Shape kKey{{F::kKey, F::kEnd}};
  static constexpr Shape kKeyValue{{F::kKey, F::kValue, F::kEnd}};
  static constexpr Shape kKeyNumber{{F::kKey, F::kInt64, F::kEnd}};
  static constexpr Shape kCompareSet{{F::kKey, F::kExpected, F::kValue, F::kEnd}};
  static constexpr Shape kKeyList{{F::kKeyList, F::kEnd}};
  static constexpr Shape kNonce{{F::kUint32, F::kEnd}};
  switch (op) {
    case Op::kGet:
    case Op::kDeleteKey:
    case Op::kQueuePop:
    case Op::kQueueLen:
      return kKey;
    case Op::kSet:
    case Op::kAppend:
    case Op::kQueuePush:
      return kKeyValue;
    case Op::kAdd:
    case Op::kBarrier:
      return kKeyNumber;
    case Op::kCompareSet:
      return kCompareSet;
    case Op::kCheck:
    case Op::kWait:
      return kKeyList;
    case Op::kPing:
      return kNonce;
    case Op::kMultiGet:
    case Op::kMultiSet:
    case Op::kValidate:
    case Op::kGetNumKeys:
    case Op::kCancelWait:
    case Op::kListKeys:
      return kNone;
  }
  return kNone;
}

void RequestParser::Append(absl::string_view bytes) {
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  } else if (begin_ > kKeptBufferBytes) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(bytes.data(), bytes.size());
}

void RequestParser::Consume(size_t bytes) {
  begin_ += bytes;
  if (begin_ == buffer_.size() && buffer_.capacity() > kKeptBufferBytes) {
    std::string().swap(buffer_);
    begin_ = 0;
  }
}

absl::StatusOr<std::optional<Request>> RequestParser::Next() {
  if (!broken_.ok()) return broken_;
  absl::StatusOr<bool> whole = true;
  if (dialect_ == Dialect::kUnknown) whole = DetectDialect();
  if (whole.ok() && *whole) whole = ReadRequest();
  if (!whole.ok()) {
    broken_ = whole.status();
    return broken_;
  }
  if (!*whole) return std::nullopt;
  return TakeRequest();
}

absl::StatusOr<bool> RequestParser::DetectDialect() {
  const absl::string_view bytes = rest();
  if (bytes.empty()) return false;
  if (bytes[0] != 0) {
    dialect_ = Dialect::kLegacy;
    return true;
  }
  // The first five bytes are either VALIDATE and its magic number, or a legacy SET and the lower
  // half of its key's length.
  if (bytes.size() < 5) return false;
  const uint32_t word = DecodeUint32(bytes.substr(1));
  if (word == kValidateMagic) {
    dialect_ = Dialect::kNew;
    Consume(5);
    return true;
  }
  if (word > kMaxKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("VALIDATE with 0x", absl::Hex(word), " instead of its magic number"));
  }
  dialect_ = Dialect::kLegacy;
  return true;
}

absl::StatusOr<bool> RequestParser::ReadRequest() {
  while (true) {
    if (!in_request_) {
      HPC_ASSIGN_OR_RETURN(const bool got_op, ReadOp());
      if (!got_op) return false;
    }
    if (request_.op != Op::kMultiGet && request_.op != Op::kMultiSet) return ReadFields();
    HPC_ASSIGN_OR_RETURN(const bool got_repeats, ReadRepeats());
    if (!got_repeats) return false;
  }
}

absl::StatusOr<bool> RequestParser::ReadFields() {
  for (const Shape& shape = ShapeOf(request_.op); shape.fields[field_] != Field::kEnd; ++field_) {
    HPC_ASSIGN_OR_RETURN(const bool got_field, ReadField(shape.fields[field_]));
    if (!got_field) return false;
  }
  return true;
}

absl::StatusOr<bool> RequestParser::ReadRepeats() {
  HPC_ASSIGN_OR_RETURN(const bool got_count, ReadCount(&repeats_left_));
  if (!got_count) return false;
  request_.op = request_.op == Op::kMultiGet ? Op::kGet : Op::kSet;
  BeginRepeat();
  return true;
}

void RequestParser::BeginRepeat() {
  in_request_ = repeats_left_ > 0;
  if (in_request_) --repeats_left_;
}

absl::StatusOr<bool> RequestParser::ReadOp() {
  if (rest().empty()) return false;
  const uint8_t type = static_cast<uint8_t>(rest()[0]);
  const std::optional<Op> op = dialect_ == Dialect::kLegacy ? LegacyOp(type) : NewOp(type);
  if (!op.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown request type ", type,
                     dialect_ == Dialect::kLegacy ? " (numbering without VALIDATE)" : ""));
  }
  if (*op == Op::kValidate) return absl::InvalidArgumentError("a second VALIDATE");
  Consume(1);
  in_request_ = true;
  request_.op = *op;
  return true;
}

absl::StatusOr<bool> RequestParser::ReadField(Field field) {
  switch (field) {
    case Field::kEnd:
      return true;
    case Field::kKey:
      return ReadText("key", kMaxKeyBytes, &request_.key);
    case Field::kValue:
      return ReadText("value", kMaxValueBytes, &request_.value);
    case Field::kExpected:
      return ReadText("value", kMaxValueBytes, &request_.expected);
    case Field::kInt64:
      if (rest().size() < 8) return false;
      request_.number = static_cast<int64_t>(DecodeUint64(rest()));
      Consume(8);
      return true;
    case Field::kUint32:
      if (rest().size() < 4) return false;
      request_.number = DecodeUint32(rest());
      Consume(4);
      return true;
    case Field::kKeyList:
      return ReadKeyList();
  }
  return absl::InternalError("no such field");
}

absl::StatusOr<bool> RequestParser::ReadText(absl::string_view what, size_t max_bytes,
                                             std::string* text) {
  if (!length_.has_value()) {
    if (rest().size() < 8) return false;
    length_ = DecodeUint64(rest());
    Consume(8);
    if (*length_ > max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ", what, " of ", *length_, " bytes; at most ", max_bytes));
    }
  }
  if (rest().size() < *length_) return false;
  text->assign(rest().data(), *length_);
  Consume(*length_);
  length_.reset();
  return true;
}

absl::StatusOr<bool> RequestParser::ReadCount(uint64_t* count) {
  if (rest().size() < 8) return false;
  *count = DecodeUint64(rest());
  Consume(8);
  if (*count > kMaxKeysPerRequest) {
    return absl::InvalidArgumentError(
        absl::StrCat(*count, " keys in one request; at most ", kMaxKeysPerRequest));
  }
  return true;
}

absl::StatusOr<bool> RequestParser::ReadKeyList() {
  if (!keys_left_.has_value()) {
    uint64_t count = 0;
    HPC_ASSIGN_OR_RETURN(const bool got_count, ReadCount(&count));
    if (!got_count) return false;
    keys_left_ = count;
    key_list_bytes_ = 0;
  }
  for (; *keys_left_ > 0; --*keys_left_) {
    std::string key;
    HPC_ASSIGN_OR_RETURN(const bool got_key, ReadText("key", kMaxKeyBytes, &key));
    if (!got_key) return false;
    key_list_bytes_ += key.size();
    if (key_list_bytes_ > kMaxKeyListBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxKeyListBytes, " bytes of keys in one request"));
    }
    request_.keys.push_back(std::move(key));
  }
  keys_left_.reset();
  return true;
}

Request RequestParser::TakeRequest() {
  Request done = std::exchange(request_, Request{});
  field_ = 0;
  request_.op = done.op;
  BeginRepeat();
  return done;
}

}  // namespace hpc::worker::store
