#include "train/program/error_line.h"

#include <new>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/text.h"

namespace hpc::train {
namespace {

constexpr char kOutOfMemory[] = "out of memory";  // an error with advice begins with this

std::string LineOf(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  if (!absl::StrContains(first, "failed in the TorchScript interpreter")) return OneLine(first);
  std::string reason = first;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty() && !absl::StartsWith(line, "Exception raised from"))
      reason = std::string(line);
    // After this line LibTorch's words about its own C++ fill another page.
    if (absl::StrContains(line, "Error: ")) break;
  }
  return OneLine(reason);
}

}  // namespace

bool IsShortOfMemory(const std::exception& error) {
  const std::string text = error.what();
  return absl::StrContains(text, "DefaultCPUAllocator: ") ||
         absl::StrContains(text, kOutOfMemory) ||
         dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

std::string OneLineOf(const std::exception& error) {
  const std::string line = LineOf(error.what());
  if (!IsShortOfMemory(error) || absl::StartsWith(line, kOutOfMemory)) return line;
  return absl::StrCat(kOutOfMemory, ": lower --batch, or use --recompute or --precision bf16 (",
                      line, ")");
}

std::string OneLineOfMakingAModel(const std::exception& error) {
  const std::string line = LineOf(error.what());
  const bool too_large = IsShortOfMemory(error) || absl::StrContains(line, "overflow");
  if (!too_large || absl::StartsWith(line, kOutOfMemory)) return line;
  return absl::StrCat(kOutOfMemory,
                      " while the model is made: make it smaller (charlm: lower --width or "
                      "--depth) (",
                      line, ")");
}

}  // namespace hpc::train
