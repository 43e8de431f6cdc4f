// The few colours that a terminal is given. Meaning never rests on colour alone.
#ifndef HPC_CLIENT_CLI_FORMS_COLOURS_H_
#define HPC_CLIENT_CLI_FORMS_COLOURS_H_

#include "absl/strings/string_view.h"

namespace hpc::client {

enum class Colour { kNone, kGood, kBusy, kBad, kQuiet, kStrong };

// Returns the escape sequence that begins `colour`; "" for kNone.
constexpr absl::string_view Begin(Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return "";
    case Colour::kGood:
      return "\x1b[32m";
    case Colour::kBusy:
      return "\x1b[33m";
    case Colour::kBad:
      return "\x1b[31m";
    case Colour::kQuiet:
      return "\x1b[2m";
    case Colour::kStrong:
      return "\x1b[1m";
  }
  return "";
}
inline constexpr absl::string_view kEndColour = "\x1b[0m";

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FORMS_COLOURS_H_
