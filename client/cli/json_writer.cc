#include "client/cli/json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/times.h"
#include "common/text.h"

namespace hpc::client {
namespace {

bool NeedsEscape(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f || c == '"' || c == '\\';
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
  const std::string repaired = IsPlain(text) ? std::string() : ToValidUtf8(text);
  if (!repaired.empty()) text = repaired;
  *out += '"';
  size_t plain = 0;  // where what is still to be taken as it is begins
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
  std::string written;
  AppendQuoted(key, &written);
  written += ':';
  return written;
}

void JsonWriter::WrittenKey(absl::string_view written) {
  Raw(written);
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
  String(UtcTime(us));
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
