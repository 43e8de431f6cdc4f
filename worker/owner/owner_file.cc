#include "worker/owner/owner_file.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/text.h"
#include "worker/os/json_number.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

std::string Path(const std::string& state_dir) { return state_dir + "/owner.json"; }

}  // namespace

absl::StatusOr<OwnerState> ReadOwnerFile(const std::string& state_dir) {
  const auto text = ReadFile(Path(state_dir), 1 << 20);
  if (absl::IsNotFound(text.status())) return OwnerState{};
  if (!text.ok()) return text.status();
  const json root = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  try {
    OwnerState state;
    state.reclaimed = root.at("reclaimed").get<bool>();
    const int64_t until_ms = WholeNumberAt<int64_t>(root, "until_ms");
    if (until_ms != 0) state.until = absl::FromUnixMillis(until_ms);
    state.reason = root.at("reason").get<std::string>();
    state.trigger =
        WholeNumberAt<int64_t>(root, "trigger") == static_cast<int64_t>(YieldTrigger::kCoordinator)
            ? YieldTrigger::kCoordinator
            : YieldTrigger::kCommand;
    state.unsent = root.at("unsent").get<bool>();
    return state;
  } catch (const std::exception&) {
    return absl::DataLossError(Path(state_dir) + " is damaged; delete it to lend the PC again");
  }
}

absl::Status WriteOwnerFile(const std::string& state_dir, const OwnerState& state) {
  const bool limited = state.until != absl::InfiniteFuture();
  const json root = {{"reclaimed", state.reclaimed},
                     {"until_ms", limited ? absl::ToUnixMillis(state.until) : 0},
                     {"reason", ToValidUtf8(state.reason)},
                     {"trigger", static_cast<int>(state.trigger)},
                     {"unsent", state.unsent}};
  return WriteFileAtomically(Path(state_dir), root.dump() + "\n");
}

}  // namespace hpc::worker
