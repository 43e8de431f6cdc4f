#include "worker/core/metric_line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::worker {
namespace {

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code >> 6)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (code >> 18)));
    out->push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<MetricLine> Line() {
    MetricLine line;
    SkipSpace();
    if (!Take('{')) return Error("expected '{'");
    SkipSpace();
    if (!Take('}')) {
      do {
        HPC_RETURN_IF_ERROR(Member(&line));
        SkipSpace();
      } while (Take(','));
      if (!Take('}')) return Error("expected ',' or '}'");
    }
    SkipSpace();
    if (at_ != text_.size()) return Error("text behind the object");
    return line;
  }

 private:
  absl::Status ErrorAt(size_t at, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("column ", at + 1, ": ", what));
  }
  absl::Status Error(absl::string_view what) const { return ErrorAt(at_, what); }
  bool AtEnd() const { return at_ == text_.size(); }
  void SkipSpace() {
    while (!AtEnd() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(absl::string_view word) {
    if (!absl::StartsWith(text_.substr(at_), word)) return false;
    at_ += word.size();
    return true;
  }

  absl::Status Member(MetricLine* line) {
    SkipSpace();
    const size_t key_at = at_;
    std::string key;
    HPC_RETURN_IF_ERROR(String(&key));
    if (const absl::Status ok = CheckName("the key", key); !ok.ok()) {
      return ErrorAt(key_at, std::string(ok.message()));
    }
    SkipSpace();
    if (!Take(':')) return Error("expected ':'");
    SkipSpace();
    const size_t value_at = at_;
    HPC_ASSIGN_OR_RETURN(const double value, Value(key));
    return Store(key, key_at, value, value_at, line);
  }

  absl::Status Store(const std::string& key, size_t key_at, double value, size_t value_at,
                     MetricLine* line) const {
    if (key == "step") {
      // The limit is 2^53: beyond it a double cannot hold every whole number exactly.
      if (std::floor(value) != value || std::abs(value) > 9007199254740992.0) {
        return ErrorAt(value_at, "\"step\" is not a whole number");
      }
      if (line->step) return ErrorAt(key_at, "\"step\" is there twice");
      line->step = static_cast<int64_t>(value);
      return absl::OkStatus();
    }
    if (key == "time") {
      // The limit is the year 9999: SQLite's date functions, and everybody's, understand no later
      // one.
      if (!(value >= 0 && value < 253402300800.0)) {
        return ErrorAt(value_at, "\"time\" is not in seconds since 1970");
      }
      if (line->time) return ErrorAt(key_at, "\"time\" is there twice");
      line->time = absl::UnixEpoch() + absl::Seconds(value);
      return absl::OkStatus();
    }
    for (const auto& [known, ignored] : line->values) {
      if (known == key) return ErrorAt(key_at, absl::StrCat("\"", key, "\" is there twice"));
    }
    line->values.emplace_back(key, value);
    return absl::OkStatus();
  }

  absl::StatusOr<double> Value(absl::string_view key) {
    if (TakeWord("true")) return 1;
    if (TakeWord("false")) return 0;
    if (TakeWord("NaN")) return std::numeric_limits<double>::quiet_NaN();
    if (TakeWord("Infinity")) return std::numeric_limits<double>::infinity();
    if (TakeWord("-Infinity")) return -std::numeric_limits<double>::infinity();
    if (!AtEnd() && (text_[at_] == '-' || IsDigit(text_[at_]))) return Number();
    return Error(absl::StrCat("the value of \"", key, "\" is not a number"));
  }

  void SkipDigits() {
    while (!AtEnd() && IsDigit(text_[at_])) ++at_;
  }

  // Checks JSON's grammar first, because the function that then reads the number accepts more than
  // JSON.
  absl::StatusOr<double> Number() {
    const size_t begin = at_;
    Take('-');
    const size_t integer = at_;
    SkipDigits();
    if (at_ == integer) return Error("expected a digit");
    if (text_[integer] == '0' && at_ > integer + 1) return ErrorAt(begin, "a leading zero");
    if (Take('.')) {
      const size_t fraction = at_;
      SkipDigits();
      if (at_ == fraction) return Error("expected a digit behind '.'");
    }
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      const size_t exponent = at_;
      SkipDigits();
      if (at_ == exponent) return Error("expected a digit in the exponent");
    }
    double value = 0;
    const auto result = absl::from_chars(text_.data() + begin, text_.data() + at_, value);
    if (result.ec == std::errc::result_out_of_range && std::abs(value) > 1) {
      return ErrorAt(begin, "the number is too large");
    }
    return value;
  }

  absl::Status String(std::string* out) {
    if (!Take('"')) return Error("expected a key in quotes");
    while (!AtEnd()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return absl::OkStatus();
      }
      if (static_cast<unsigned char>(c) < 0x20) return Error("a control character in a key");
      ++at_;
      if (c == '\\') {
        HPC_RETURN_IF_ERROR(Escape(out));
      } else {
        out->push_back(c);
      }
    }
    return Error("the key does not end");
  }

  absl::Status Escape(std::string* out) {
    if (AtEnd()) return Error("the key does not end");
    static constexpr absl::string_view kFrom = "\"\\/bfnrt";
    static constexpr absl::string_view kTo = "\"\\/\b\f\n\r\t";
    const char c = text_[at_++];
    if (const size_t i = kFrom.find(c); i != absl::string_view::npos) {
      out->push_back(kTo[i]);
      return absl::OkStatus();
    }
    if (c != 'u') return ErrorAt(at_ - 1, "an unknown escape");
    HPC_ASSIGN_OR_RETURN(uint32_t code, Hex4());
    if (code >= 0xDC00 && code < 0xE000) return Error("half of a surrogate pair");
    if (code >= 0xD800 && code < 0xDC00) {
      if (!TakeWord("\\u")) return Error("half of a surrogate pair");
      HPC_ASSIGN_OR_RETURN(const uint32_t low, Hex4());
      if (low < 0xDC00 || low >= 0xE000) return Error("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(code, out);
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> Hex4() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = AtEnd() ? '?' : text_[at_];
      uint32_t digit;
      if (IsDigit(c)) {
        digit = static_cast<uint32_t>(c - '0');
      } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
        digit = static_cast<uint32_t>((c | 0x20) - 'a' + 10);
      } else {
        return Error("expected four hexadecimal digits");
      }
      code = code << 4 | digit;
    }
    return code;
  }

  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool MetricLine::TellsOfCheckpoint() const {
  return std::any_of(values.begin(), values.end(),
                     [](const auto& value) { return value.first == "checkpoint_saved"; });
}

absl::StatusOr<MetricLine> ParseMetricLine(absl::string_view line) {
  HPC_RETURN_IF_ERROR(CheckText("the line", line));
  return Parser(line).Line();
}

}  // namespace hpc::worker
