#include "common/secret_name.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hpc {
namespace {

constexpr std::array kEndings = {"TOKEN",  "KEY",        "PASSWORD",  "PASSWD",
                                 "SECRET", "PASSPHRASE", "CREDENTIAL"};

bool IsSecretWord(absl::string_view word) {
  // The digits go, as in API_KEY2, and so does the plural, as in TOKENS.
  while (!word.empty() && absl::ascii_isdigit(word.back())) word.remove_suffix(1);
  absl::ConsumeSuffix(&word, "S");
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](const char* ending) { return absl::EndsWith(word, ending); });
}

}  // namespace

bool LooksSecret(absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  for (const absl::string_view word : absl::StrSplit(upper, absl::ByAnyChar("_-."))) {
    if (IsSecretWord(word)) return true;
  }
  return false;
}

}  // namespace hpc
