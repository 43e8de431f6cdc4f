// One thing with named fields, shown as aligned lines or as a JSON object, from the same calls.
// Pure.
#ifndef HPC_CLIENT_CLI_FORMS_RECORD_H_
#define HPC_CLIENT_CLI_FORMS_RECORD_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/cli/forms/json_writer.h"
#include "client/cli/forms/listing.h"

namespace hpc::client {

// A field is `key` in JSON and `title` for people; with an empty title it is in JSON only. Fields
// that are empty (no text, no items, time 0) are not shown to people.
class Record {
 public:
  explicit Record(const ListingForm& form);

  void Text(absl::string_view key, absl::string_view title, absl::string_view text,
            Colour colour = Colour::kNone);
  void Integer(absl::string_view key, absl::string_view title, int64_t value);
  void Bool(absl::string_view key, absl::string_view title, bool value);
  // Shows "2026-11-21 07:40:30 (3 min ago)".
  void Time(absl::string_view key, absl::string_view title, int64_t us);
  // Shows milliseconds in JSON; 0 is not shown to people.
  void Duration(absl::string_view key, absl::string_view title, int64_t ms);
  // Takes texts or whole numbers.
  template <typename Values>
  void Items(absl::string_view key, absl::string_view title, const Values& items);
  // Takes JSON that is already written, for a key without a title.
  void Raw(absl::string_view key, absl::string_view json);
  // The fields between the two calls are an object of their own in JSON. People see no difference.
  void BeginGroup(absl::string_view key);
  void EndGroup();
  // Adds a field for people alone.
  void Note(absl::string_view title, absl::string_view text, Colour colour = Colour::kNone);

  // Returns lines or a JSON object, with a line end.
  std::string Finish();

 private:
  struct Line {
    std::string title, text;
    Colour colour;
  };
  ListingForm form_;
  JsonWriter json_;
  std::vector<Line> lines_;
};

template <typename Values>
void Record::Items(absl::string_view key, absl::string_view title, const Values& items) {
  Note(title, absl::StrJoin(items, ", "));
  if (!form_.json) return;
  json_.Key(key);
  json_.BeginArray();
  for (const auto& item : items) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(item)>>) {
      json_.Integer(item);
    } else {
      json_.String(item);
    }
  }
  json_.EndArray();
}

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FORMS_RECORD_H_
