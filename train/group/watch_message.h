// The messages between ranks when a collective has failed: lines of text over TCP.
//
//   -> hpc-train 1 SECRET ask                           what did you enter last?
//   <- status NUMBER AGO_MS FAILED MISSING \t WHAT \t REASON
//   -> hpc-train 1 SECRET tell MISSING \t REASON        the verdict
//   <- ok
//   -> hpc-train 1 SECRET stay RANK                     who I am; the connection stays open
//   <> bye                                              (either side) I leave, and am not dead
//
// SECRET keeps out others that can reach the port. It does not protect from anyone who can listen
// to the network. MISSING is "-" or ranks with commas. FAILED is 0 or 1.
#ifndef HPC_TRAIN_GROUP_WATCH_MESSAGE_H_
#define HPC_TRAIN_GROUP_WATCH_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "train/group/verdict.h"

namespace hpc::train {

inline constexpr size_t kMaxWatchLine = 8192;  // with its newline; longer text is cut

struct WatchRequest {
  std::string secret;
  std::optional<Verdict> verdict;  // if set, it tells a verdict; else:
  std::optional<int> stay;         // if set, it stays, and is this rank; else it asks
};

// Returns the line with its newline.
std::string EncodeRequest(const WatchRequest& request);
std::string EncodeStatus(const RankStatus& status);
inline constexpr char kWatchOk[] = "ok\n";
inline constexpr char kWatchBye[] = "bye\n";

// Decodes a line without its newline. Returns none if it is not a line that the functions above
// make.
std::optional<WatchRequest> DecodeRequest(absl::string_view line);
std::optional<RankStatus> DecodeStatus(absl::string_view line);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_WATCH_MESSAGE_H_
