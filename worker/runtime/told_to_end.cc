#include "worker/runtime/told_to_end.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/text.h"
#include "worker/os/json_number.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

std::string Path(const std::string& state_dir) { return state_dir + "/told-to-end.json"; }

}  // namespace

absl::Status WriteToldToEnd(const std::string& state_dir, const std::string& boot_id,
                            int64_t at_ns) {
  const json root = {{"boot_id", ToValidUtf8(boot_id)}, {"at_ns", at_ns}};
  return WriteFileAtomically(Path(state_dir), root.dump() + "\n");
}

std::optional<absl::Duration> ReadToldToEnd(const std::string& state_dir,
                                            const std::string& boot_id, int64_t now_ns) {
  const auto text = ReadFile(Path(state_dir), 1 << 20);
  if (!text.ok()) return std::nullopt;
  const json root = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  try {
    const auto at_ns = WholeNumberAt<int64_t>(root, "at_ns");
    if (root.at("boot_id").get<std::string>() != boot_id || at_ns > now_ns) return std::nullopt;
    return absl::Nanoseconds(now_ns - at_ns);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace hpc::worker
