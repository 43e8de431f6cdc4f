#include "coordinator/rpc/calls/open_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hpc::coordinator {

absl::Status OpenCalls::SetCaller(OpenCall* call, const Caller& caller) {
  Owner owner;
  owner.certificate = caller.serial;
  if (!caller.user.empty()) {
    owner.identity = absl::StrCat(StandingName(caller.standing), " ", caller.user);
    int& count = counts_[owner.identity];
    if (count >= per_identity_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          owner.identity, " has ", count,
          " calls open that wait for something, as many as one may have; end some of them"));
    }
    ++count;
  }
  calls_[call] = std::move(owner);
  return absl::OkStatus();
}

void OpenCalls::Remove(OpenCall* call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  const auto count = counts_.find(found->second.identity);
  if (count != counts_.end() && --count->second == 0) counts_.erase(count);
  calls_.erase(found);
}

void OpenCalls::StopAll(const absl::Status& reason) {
  StopThose([](const Owner&) { return true; }, reason);
}

void OpenCalls::StopOf(const std::vector<std::string>& serials, const absl::Status& reason) {
  StopThose(
      [&](const Owner& owner) {
        return std::find(serials.begin(), serials.end(), owner.certificate) != serials.end();
      },
      reason);
}

void OpenCalls::StopThose(const std::function<bool(const Owner&)>& which,
                          const absl::Status& reason) {
  std::vector<OpenCall*> those;
  for (const auto& [call, owner] : calls_) {
    if (which(owner)) those.push_back(call);
  }
  for (OpenCall* const call : those) {
    if (calls_.contains(call)) call->Stop(reason);
  }
}

}  // namespace hpc::coordinator
