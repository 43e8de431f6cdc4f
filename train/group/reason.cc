#include "train/group/reason.h"

#include <c10/util/Exception.h>

#include "absl/strings/string_view.h"
#include "common/text.h"

namespace hpc::train {
namespace {

// Removes "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537] " and the like.
absl::string_view WithoutFile(absl::string_view text) {
  const size_t end = text.find("] ");
  if (text.empty() || text[0] != '[' || end == absl::string_view::npos) return text;
  return text.substr(0, end).find(".cc:") == absl::string_view::npos ? text : text.substr(end + 2);
}

}  // namespace

std::string ReasonOf(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string all = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  // An error that was made into another one on its way has these parts in its own text.
  absl::string_view text = all;
  for (const char* end : {"\nException raised from", " This is typically caused by"}) {
    text = text.substr(0, text.find(end));
  }
  return OneLine(WithoutFile(text));
}

}  // namespace hpc::train
