#include "client/cli/show/event_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/forms/times.h"
#include "client/cli/show/words.h"
#include "common/text.h"

namespace hpc::client {
namespace {

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string RunWords(const v1::Event& event) {
  if (event.run() == 0) return "-";
  std::string words = absl::StrCat("run ", event.run());
  if (event.attempt() != 0) absl::StrAppend(&words, ".", event.attempt());
  if (event.has_rank()) absl::StrAppend(&words, " rank ", event.rank());
  return words;
}

}  // namespace

std::string EventJson(const v1::Event& event) {
  JsonWriter json;
  const auto text = [&json](absl::string_view key, absl::string_view value) {
    json.Key(key);
    value.empty() ? json.Null() : json.String(value);
  };
  const auto number = [&json](absl::string_view key, int64_t value, bool known) {
    json.Key(key);
    known ? json.Integer(value) : json.Null();
  };
  json.BeginObject();
  number("id", event.id(), true);
  json.Key("at");
  json.Time(event.at_us());
  text("severity", Word(event.severity()));
  text("kind", event.kind());
  number("run", event.run(), event.run() != 0);
  number("attempt", event.attempt(), event.attempt() != 0);
  text("node", event.node());
  number("rank", event.rank(), event.has_rank());
  json.Key("text");
  json.String(event.text());
  json.EndObject();
  return json.Take();
}

std::string EventLine(const v1::Event& event, const ListingForm& form) {
  if (form.json) return EventJson(event) + "\n";
  const Colour colour = form.colours ? ColourOf(event.severity()) : Colour::kNone;
  return absl::StrCat(LocalTime(event.at_us()), "  ", Padded(RunWords(event), 16), "  ",
                      Padded(event.node().empty() ? "-" : event.node(), 10), "  ", Begin(colour),
                      OneLine(event.text()), colour == Colour::kNone ? "" : kEndColour, "\n");
}

}  // namespace hpc::client
