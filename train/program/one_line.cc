#include "train/program/one_line.h"

#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::train {

std::string OneLineOf(const std::exception& error) {
  const std::string text = error.what();
  const std::string line = OneLine(text.substr(0, text.find('\n')));
  const bool short_of_memory = absl::StrContains(text, "DefaultCPUAllocator: ") ||
                               absl::StrContains(text, "out of memory") ||
                               dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (!short_of_memory) return line;
  return absl::StrCat("out of memory: lower --batch, or use --recompute or --precision bf16 (",
                      line, ")");
}

}  // namespace hpc::train
