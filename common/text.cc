#include "common/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hpc {
namespace {

// Returns the length of the valid UTF-8 sequence at the start of `text`, or 0. Overlong forms,
// surrogates and code points beyond U+10FFFF are not valid (Unicode 15, table 3-7).
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i, unsigned char low, unsigned char high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned char low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned char low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2, 0x80, 0xBF) && continues(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

// Returns the length of the character at the start of `text` if it must not be printed, else 0.
// Such a character moves the cursor (C0, DEL, C1), changes where others are shown (line separators,
// Unicode's bidirectional controls), or is never seen, so that two names would look alike (soft
// hyphen, and spaces and joiners without width except those that scripts and emoji need).
size_t ControlLength(absl::string_view text) {
  if (absl::ascii_isascii(static_cast<unsigned char>(text[0]))) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(text[0])) ? 1 : 0;
  }
  const unsigned char second = text.size() >= 2 ? static_cast<unsigned char>(text[1]) : 0;
  if (text[0] == '\xC2' && second >= 0x80 && second < 0xA0) return 2;
  for (const absl::string_view control :
       {"\u00AD", "\u061C", "\u200B", "\u2060", "\uFEFF", "\u200E", "\u200F", "\u2028", "\u2029",
        "\u202A", "\u202B", "\u202C", "\u202D", "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    if (absl::StartsWith(text, control)) return control.size();
  }
  return 0;
}

struct Unit {
  absl::string_view name;
  absl::Duration length;
};
const std::array<Unit, 5>& Units() {
  static const std::array<Unit, 5> units = {{{"ms", absl::Milliseconds(1)},
                                             {"s", absl::Seconds(1)},
                                             {"m", absl::Minutes(1)},
                                             {"h", absl::Hours(1)},
                                             {"d", absl::Hours(24)}}};
  return units;
}

std::optional<absl::Duration> ParseClockForm(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  int64_t seconds = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t value = 0;
    const bool digits = !parts[i].empty() && parts[i].size() <= 6 &&
                        std::all_of(parts[i].begin(), parts[i].end(), absl::ascii_isdigit);
    if (!digits || !absl::SimpleAtoi(parts[i], &value) || (i > 0 && value > 59)) {
      return std::nullopt;
    }
    seconds = seconds * 60 + value;
  }
  return absl::Seconds(seconds);
}

// Days and a time of day, as Slurm has it: "1-12", "1-12:00", "1-12:00:00".
std::optional<absl::Duration> ParseDayForm(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('-', 1));
  if (parts.size() != 2 || parts[0].empty() || parts[0].size() > 6) return std::nullopt;
  int64_t days = 0;
  if (!std::all_of(parts[0].begin(), parts[0].end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(parts[0], &days)) {
    return std::nullopt;
  }
  std::string clock(parts[1]);
  for (auto colons = std::count(clock.begin(), clock.end(), ':'); colons < 2; ++colons) {
    clock += ":00";
  }
  const auto rest = ParseClockForm(clock);
  if (!rest || *rest >= absl::Hours(24)) return std::nullopt;
  return absl::Hours(24 * days) + *rest;
}

std::optional<absl::Duration> ParseUnitForm(absl::string_view text) {
  absl::Duration total;
  while (!text.empty()) {
    const size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    if (number_end == 0 || !absl::SimpleAtod(text.substr(0, number_end), &number)) {
      return std::nullopt;
    }
    text.remove_prefix(number_end);
    const size_t unit_end = std::min(text.find_first_of("0123456789."), text.size());
    const absl::string_view name = text.substr(0, unit_end);
    const auto unit =
        std::find_if(Units().begin(), Units().end(), [&](const Unit& u) { return u.name == name; });
    if (unit == Units().end()) return std::nullopt;
    total += number * unit->length;
    text.remove_prefix(unit_end);
  }
  return total;
}

size_t EditDistance(absl::string_view a, absl::string_view b) {
  // This is optimal string alignment, for which three rows are enough.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

absl::Status CheckText(absl::string_view what, absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\0') {
      return absl::InvalidArgumentError(absl::StrCat(what, " contains a NUL byte at ", i));
    }
    const size_t length = SequenceLength(text.substr(i));
    if (length == 0) {
      return absl::InvalidArgumentError(absl::StrFormat("%s is not valid UTF-8 (byte 0x%02x at %d)",
                                                        what, static_cast<unsigned char>(text[i]),
                                                        i));
    }
    i += length;
  }
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view what, absl::string_view name, size_t max_bytes) {
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " is empty"));
  if (name.size() > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " is ", name.size(), " bytes long; at most ", max_bytes, " are allowed"));
  }
  const absl::Status text = CheckText(what, name);
  if (!text.ok()) return text;
  for (size_t i = 0; i < name.size(); ++i) {
    const size_t length = ControlLength(name.substr(i));
    if (length > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " contains a control or invisible character (0x",
                       absl::BytesToHexString(name.substr(i, length)), " at ", i, ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNodeName(absl::string_view name) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  if (name.empty() || name.size() > 63 ||
      !absl::ascii_isalnum(static_cast<unsigned char>(name[0])) ||
      !std::all_of(name.begin(), name.end(), allowed)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", ToValidUtf8(name), "' is not a node name or a user's: 1 to 63 letters, ",
                     "digits, '.', '_' or '-', beginning with a letter or digit"));
  }
  return absl::OkStatus();
}

bool IsPlain(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string OneLine(absl::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const size_t control = ControlLength(text);
    line.push_back(control > 0 ? ' ' : text[0]);
    text.remove_prefix(std::max<size_t>(control, 1));
  }
  return line;
}

std::string ToValidUtf8(absl::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = SequenceLength(bytes);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
    } else {
      out.append(bytes.data(), length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  std::optional<absl::Duration> parsed;
  double seconds = 0;
  if (absl::StrContains(text, '-')) {
    parsed = ParseDayForm(text);
  } else if (absl::StrContains(text, ':')) {
    parsed = ParseClockForm(text);
  } else if (!text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.back()))) {
    if (text.find_first_not_of("0123456789.") == absl::string_view::npos &&
        absl::SimpleAtod(text, &seconds)) {
      parsed = absl::Seconds(seconds);
    }
  } else if (!text.empty()) {
    parsed = ParseUnitForm(text);
  }
  absl::string_view trouble;
  if (!parsed || *parsed < absl::ZeroDuration()) {
    trouble = "is not a duration";
  } else if (*parsed == absl::ZeroDuration()) {
    trouble = "is no time at all";
  } else if (*parsed > absl::Hours(24 * 36525)) {
    // No run takes longer, and later arithmetic stays far from overflow.
    trouble = "is more than a century";
  } else {
    return *parsed;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", ToValidUtf8(text), "' ", trouble,
                   ": give seconds (90), units (45s, 10m, 2h, 1d, 1h30m) or H:MM:SS"));
}

std::string HumanDuration(absl::Duration d) {
  if (d == absl::InfiniteDuration()) return "for ever";
  if (d < absl::ZeroDuration()) return absl::StrCat("-", HumanDuration(-d));
  if (d < absl::Milliseconds(1)) {
    return absl::StrCat(absl::ToInt64Microseconds(d), " us");
  }
  if (d < absl::Seconds(1)) return absl::StrCat(absl::ToInt64Milliseconds(d), " ms");
  if (d < absl::Minutes(1)) {
    std::string text = absl::StrFormat("%.1f", std::floor(absl::ToDoubleSeconds(d) * 10) / 10);
    return absl::StrCat(absl::StripSuffix(text, ".0"), " s");
  }
  const auto two = [](int64_t big, absl::string_view big_unit, int64_t small,
                      absl::string_view small_unit) {
    std::string text = absl::StrCat(big, " ", big_unit);
    if (small > 0) absl::StrAppend(&text, " ", small, " ", small_unit);
    return text;
  };
  const int64_t seconds = absl::ToInt64Seconds(d);
  if (seconds < 3600) return two(seconds / 60, "min", seconds % 60, "s");
  if (seconds < 86400) return two(seconds / 3600, "h", seconds % 3600 / 60, "min");
  return two(seconds / 86400, "d", seconds % 86400 / 3600, "h");
}

std::string HumanBytes(uint64_t bytes) {
  constexpr absl::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0 || value >= 10) return absl::StrFormat("%.0f %s", value, kUnits[unit]);
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string HumanTime(absl::Time t) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", t, absl::LocalTimeZone());
}

std::string Nearest(absl::string_view typed, const std::vector<std::string>& candidates) {
  const std::string wanted = absl::AsciiStrToLower(typed);
  // A third of the letters may be wrong. With more, it is another word.
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(wanted, absl::AsciiStrToLower(candidate));
    // If two are equally near, the one that was not typed to its end is meant.
    const bool unfinished = absl::StartsWithIgnoreCase(candidate, typed) &&
                            !absl::StartsWithIgnoreCase(best, typed) && !best.empty();
    if (distance < best_distance || (distance == best_distance && unfinished)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string JoinWords(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  if (words.size() == 1) return words[0];
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), " and ", words.back());
}

std::string JoinSome(std::vector<std::string> words, size_t most) {
  if (words.size() > most) {
    const size_t more = words.size() - most;
    words.resize(most);
    words.push_back(absl::StrCat(more, " more"));
  }
  return JoinWords(words);
}

std::string DoneBy(absl::string_view deed, absl::string_view who) {
  return who.empty() ? std::string(deed) : absl::StrCat(deed, " by ", who);
}

std::string Count(int64_t n, absl::string_view singular) {
  return absl::StrCat(n, " ", singular, n == 1 ? "" : "s");
}

}  // namespace hpc
