#include "worker/link/route.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hpc::worker {

Route::Route(std::vector<Endpoint> addresses, member::Security security)
    : addresses_(std::move(addresses)),
      problems_(addresses_.size()),
      security_(std::move(security)) {}

absl::Status Route::OnClosed(const absl::Status& why) {
  if (std::exchange(answered_, false) || addresses_.size() == 1) return why;
  problems_[next_] = std::string(why.message());
  next_ = (next_ + 1) % addresses_.size();
  std::string all;
  for (size_t i = 0; i < addresses_.size(); ++i) {
    if (problems_[i].empty()) continue;
    absl::StrAppend(&all, all.empty() ? "" : "; ", addresses_[i].ToString(), ": ", problems_[i]);
  }
  return absl::Status(why.code(), all);
}

void Route::OnAnswered() {
  answered_ = true;
  const auto answered = addresses_.begin() + static_cast<std::ptrdiff_t>(next_);
  std::rotate(addresses_.begin(), answered, answered + 1);
  next_ = 0;
  problems_.assign(addresses_.size(), "");
}

}  // namespace hpc::worker
