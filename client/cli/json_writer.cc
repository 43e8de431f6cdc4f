#include "client/cli/json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/times.h"
#include "common/text.h"

namespace hpc::client {

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

void JsonWriter::Key(absl::string_view key) {
  Separate();
  Quote(key);
  text_ += ':';
  comma_wanted_ = false;
}

void JsonWriter::String(absl::string_view text) {
  Separate();
  Quote(text);
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

void JsonWriter::Quote(absl::string_view text) {
  text_ += '"';
  bool ascii = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ascii = ascii && byte < 0x80;
  }
  const std::string repaired = ascii ? std::string() : ToValidUtf8(text);
  for (const char c : ascii ? text : absl::string_view(repaired)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      text_ += "\\u00";
      text_ += kHex[byte >> 4];
      text_ += kHex[byte & 15];
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

}  // namespace hpc::client
