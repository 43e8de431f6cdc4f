#include "bench/simulator/enrol.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/pki/join_token.h"
#include "common/status_macros.h"
#include "member/admission.h"
#include "member/join.h"

namespace hpc::simulator {
namespace {

// Several nodes join at once, because the coordinator writes what arrives together with one flush.
constexpr int kJoiningAtOnce = 8;

// `token` is null where there is none.
absl::StatusOr<pki::Membership> EnrolOne(const std::string& name, const std::string& state_dir,
                                         const pki::JoinToken* token) {
  const std::string folder = absl::StrCat(state_dir, "/", name);
  absl::StatusOr<pki::Membership> membership = pki::ReadMembership(folder);
  if (!absl::IsNotFound(membership.status())) return membership;
  if (token == nullptr) {
    return absl::FailedPreconditionError(
        "it has not joined: give --token (hpcctl token create --uses 1000)");
  }
  const absl::Time now = RealClock().Get().wall;
  HPC_RETURN_IF_ERROR(member::Join(*token, name, folder, /*replace=*/false, now).status());
  return pki::ReadMembership(folder);
}

}  // namespace

std::string NameOf(int node) { return absl::StrCat("pc", node + 1); }

std::string AddressOf(int node) {
  return absl::StrCat("127.", 1 + node / 62'500, ".", node / 250 % 250, ".", 1 + node % 250);
}

absl::StatusOr<std::vector<pki::Membership>> Enrol(int nodes, const std::string& state_dir,
                                                   const std::vector<std::string>& tokens,
                                                   const std::vector<Endpoint>& coordinators) {
  std::vector<pki::JoinToken> read;
  for (const std::string& text : tokens) {
    HPC_ASSIGN_OR_RETURN(pki::JoinToken token, member::ReadToken(text, member::Door::kWorker));
    read.push_back(std::move(token));
  }
  std::vector<pki::Membership> members(static_cast<size_t>(nodes));
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  absl::Status failed;
  const auto work = [&] {
    for (size_t i = next++; i < members.size(); i = next++) {
      std::optional<pki::JoinToken> token;
      if (!read.empty()) token = read[i * read.size() / members.size()];
      if (token && !coordinators.empty())
        token->addresses = {coordinators[i % coordinators.size()]};
      const std::string name = NameOf(static_cast<int>(i));
      auto member = EnrolOne(name, state_dir, token ? &*token : nullptr);
      if (member.ok()) {
        members[i] = *std::move(member);
        continue;
      }
      next = members.size();
      const std::lock_guard<std::mutex> lock(mutex);
      failed.Update(absl::Status(member.status().code(),
                                 absl::StrCat(name, ": ", member.status().message())));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kJoiningAtOnce; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  HPC_RETURN_IF_ERROR(failed);
  return members;
}

}  // namespace hpc::simulator
