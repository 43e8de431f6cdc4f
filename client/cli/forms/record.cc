#include "client/cli/forms/record.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/forms/times.h"
#include "common/text.h"

namespace hpc::client {

Record::Record(const ListingForm& form) : form_(form) {
  if (form_.json) json_.BeginObject();
}

void Record::Note(absl::string_view title, absl::string_view text, Colour colour) {
  if (form_.json || title.empty() || text.empty()) return;
  lines_.push_back({std::string(title), OneLine(text), colour});
}

void Record::Text(absl::string_view key, absl::string_view title, absl::string_view text,
                  Colour colour) {
  Note(title, text, colour);
  if (!form_.json) return;
  json_.Key(key);
  json_.String(text);
}

void Record::Integer(absl::string_view key, absl::string_view title, int64_t value) {
  Note(title, absl::StrCat(value));
  if (!form_.json) return;
  json_.Key(key);
  json_.Integer(value);
}

void Record::Bool(absl::string_view key, absl::string_view title, bool value) {
  Note(title, value ? "yes" : "no");
  if (!form_.json) return;
  json_.Key(key);
  json_.Bool(value);
}

void Record::Time(absl::string_view key, absl::string_view title, int64_t us) {
  const std::string time = LocalTime(us), ago = Ago(us, form_.now_us);
  if (us != 0) Note(title, ago == time ? time : absl::StrCat(time, " (", ago, ")"));
  if (!form_.json) return;
  json_.Key(key);
  json_.Time(us);
}

void Record::Duration(absl::string_view key, absl::string_view title, int64_t ms) {
  if (ms != 0) Note(title, HumanDuration(absl::Milliseconds(ms)));
  if (!form_.json) return;
  json_.Key(key);
  json_.Integer(ms);
}

void Record::Raw(absl::string_view key, absl::string_view json) {
  if (!form_.json) return;
  json_.Key(key);
  json_.Raw(json);
}

void Record::BeginGroup(absl::string_view key) {
  if (!form_.json) return;
  json_.Key(key);
  json_.BeginObject();
}

void Record::EndGroup() {
  if (form_.json) json_.EndObject();
}

std::string Record::Finish() {
  if (form_.json) {
    json_.EndObject();
    return json_.Take() + "\n";
  }
  size_t widest = 0;
  for (const Line& line : lines_) widest = std::max(widest, line.title.size());
  std::string out;
  for (const Line& line : lines_) {
    const bool coloured = form_.colours && line.colour != Colour::kNone;
    absl::StrAppend(&out, line.title, std::string(widest + 2 - line.title.size(), ' '),
                    coloured ? Begin(line.colour) : "", line.text, coloured ? kEndColour : "",
                    "\n");
  }
  return out;
}

}  // namespace hpc::client
