// Writes JSON text front to back, without building a document first: a listing of ten thousand rows
// is written as fast as it arrives. What is not valid UTF-8 becomes U+FFFD. Pure.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("id");
//   json.Integer(12);
//   json.EndObject();
#ifndef HPC_CLIENT_CLI_FORMS_JSON_WRITER_H_
#define HPC_CLIENT_CLI_FORMS_JSON_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace hpc::client {

class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }

  void Key(absl::string_view key) { WrittenKey(Written(key)); }
  // Makes such a key once for many uses: as it is written, with the comma before it.
  static std::string Written(absl::string_view key);
  void WrittenKey(absl::string_view written);
  void String(absl::string_view text);
  void Integer(int64_t value);
  // Writes "NaN", "Infinity" and "-Infinity" for values that JSON has no numbers for.
  void Real(double value);
  void Bool(bool value);
  void Null();
  // Writes "2026-11-21T07:40:30.123456Z", or null for 0, which means "has not happened".
  void Time(int64_t us);

  // Writes JSON text as it is.
  void Raw(absl::string_view json);

  // Starts a new line before the next value, so that each row has a line.
  void NewLine() { line_wanted_ = true; }

  const std::string& text() const { return text_; }
  void Clear() { text_.clear(); }  // the text has been used; writing goes on from there
  // Hands over what has been written so far and goes on from there.
  std::string Take();

 private:
  void Open(char bracket);
  void Close(char bracket);
  void Separate();

  std::string text_;
  int64_t second_ = 0;  // the second of time_, which was written last
  std::string time_;
  bool comma_wanted_ = false;
  bool line_wanted_ = false;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FORMS_JSON_WRITER_H_
