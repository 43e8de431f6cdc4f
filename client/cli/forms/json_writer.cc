#include "client/cli/forms/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/forms/times.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;

bool NeedsEscape(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f || c == '"' || c == '\\';
}

constexpr uint64_t EachByte(uint64_t byte) { return byte * 0x0101010101010101; }

// Returns a value other than 0 if a byte of `word` is below `limit`, which is at most 128. Bytes
// above 127 never count.
constexpr uint64_t AnyBelow(uint64_t word, uint64_t limit) {
  return (word - EachByte(limit)) & ~word & EachByte(0x80);
}

constexpr uint64_t AnyEqual(uint64_t word, uint64_t byte) {
  return AnyBelow(word ^ EachByte(byte), 1);
}

// Returns whether `text` is ASCII and none of it needs an escape, as is nearly all text. It looks
// at eight bytes at a time.
bool IsVerbatim(absl::string_view text) {
  while (!text.empty()) {
    uint64_t word = EachByte(' ');
    const size_t size = std::min(text.size(), sizeof(word));
    std::memcpy(&word, text.data(), size);
    const uint64_t other = (word & EachByte(0x80)) | AnyBelow(word, 0x20) | AnyEqual(word, 0x7f) |
                           AnyEqual(word, '"') | AnyEqual(word, '\\');
    if (other != 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void AppendEscaped(char c, std::string* out) {
  if (c == '"' || c == '\\') {
    *out += '\\';
    *out += c;
  } else if (c == '\n') {
    *out += "\\n";
  } else {
    constexpr char kHex[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    *out += "\\u00";
    *out += kHex[byte >> 4];
    *out += kHex[byte & 15];
  }
}

void AppendQuoted(absl::string_view text, std::string* out) {
  if (IsVerbatim(text)) {
    absl::StrAppend(out, "\"", text, "\"");
    return;
  }
  const std::string repaired = ToValidUtf8(text);
  text = repaired;
  *out += '"';
  size_t plain = 0;  // the start of what will be copied as it is
  for (size_t i = 0; i < text.size(); ++i) {
    if (!NeedsEscape(text[i])) continue;
    out->append(text.data() + plain, i - plain);
    AppendEscaped(text[i], out);
    plain = i + 1;
  }
  out->append(text.data() + plain, text.size() - plain);
  *out += '"';
}

}  // namespace

void JsonWriter::Separate() {
  if (comma_wanted_) text_ += ',';
  if (line_wanted_) text_ += '\n';
  line_wanted_ = false;
  comma_wanted_ = true;
}

void JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  comma_wanted_ = false;
}

void JsonWriter::Close(char bracket) {
  if (line_wanted_) text_ += '\n';
  line_wanted_ = false;
  text_ += bracket;
  comma_wanted_ = true;
}

std::string JsonWriter::Written(absl::string_view key) {
  std::string written = ",";
  AppendQuoted(key, &written);
  written += ':';
  return written;
}

void JsonWriter::WrittenKey(absl::string_view written) {
  if (!comma_wanted_) written.remove_prefix(1);
  text_.append(written.data(), written.size());
  comma_wanted_ = false;
}

void JsonWriter::String(absl::string_view text) {
  Separate();
  AppendQuoted(text, &text_);
}

void JsonWriter::Integer(int64_t value) {
  Separate();
  absl::StrAppend(&text_, value);
}

void JsonWriter::Real(double value) {
  if (std::isnan(value)) return String("NaN");
  if (std::isinf(value)) return String(value > 0 ? "Infinity" : "-Infinity");
  Separate();
  char digits[32];  // the shortest form that reads back as the same number
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  text_.append(digits, end);
}

void JsonWriter::Bool(bool value) {
  Separate();
  text_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Separate();
  text_ += "null";
}

void JsonWriter::Time(int64_t us) {
  if (us == 0) return Null();
  if (us < kUsPerSecond) return String(UtcTime(us));
  // Rows that follow each other often fall into the same second.
  if (const int64_t second = us / kUsPerSecond; second != second_) {
    second_ = second;
    time_ = absl::StrCat("\"", UtcTime(us), "\"");
  }
  Raw(time_);
  size_t digit = text_.size() - 2;  // the Z, which stands after the fraction
  for (int64_t left = us % kUsPerSecond, i = 0; i < 6; left /= 10, ++i) {
    text_[--digit] = static_cast<char>('0' + left % 10);
  }
}

void JsonWriter::Raw(absl::string_view json) {
  Separate();
  text_.append(json.data(), json.size());
}

std::string JsonWriter::Take() {
  std::string taken;
  taken.swap(text_);
  return taken;
}

}  // namespace hpc::client
