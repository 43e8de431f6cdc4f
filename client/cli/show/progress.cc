#include "client/cli/show/progress.h"

#include "absl/strings/str_cat.h"
#include "client/cli/forms/listing.h"
#include "common/text.h"

namespace hpc::client {
namespace {

// Moves back to the start of the line and erases all of it.
constexpr absl::string_view kErase = "\r\x1b[K";

}  // namespace

void Progress::Show(absl::string_view text) {
  if (!err_->terminal()) return;
  // One column stays free: a terminal wraps when the last one is filled.
  const std::string one_line = OneLine(text);
  const std::string line(FirstColumns(one_line, err_->width() - 1));
  absl::MutexLock lock(&mutex_);
  if (line == shown_) return;
  err_->Write(absl::StrCat(ranks_->End(), kErase, line));
  err_->Flush();
  shown_ = line;
}

void Progress::Clear() {
  absl::MutexLock lock(&mutex_);
  if (shown_.empty()) return;
  err_->Write(kErase);
  err_->Flush();
  shown_.clear();
}

}  // namespace hpc::client
