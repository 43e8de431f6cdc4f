// What ranks say to each other when a collective has failed: lines of text over TCP.
//
//   -> hpc-train 1 SECRET ask                           what did you enter last?
//   <- status NUMBER AGO_MS FAILED MISSING \t WHAT \t REASON
//   -> hpc-train 1 SECRET tell MISSING \t REASON        the verdict
//   <- ok
//   -> hpc-train 1 SECRET stay RANK                     who I am; the connection stays open
//   <> bye                                              (either side) I leave, and am not dead
//
// SECRET keeps others out that can reach the port; it is no protection from who can listen to the
// network. MISSING is "-" or ranks with commas; FAILED is 0 or 1.
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
  std::optional<Verdict> verdict;  // it tells; else:
  std::optional<int> stay;         // it stays, and is this rank; else it asks
};

// With the newline.
std::string EncodeRequest(const WatchRequest& request);
std::string EncodeStatus(const RankStatus& status);
inline constexpr char kWatchOk[] = "ok\n";
inline constexpr char kWatchBye[] = "bye\n";

// Of a line without its newline. None if it is anything else than what the above make.
std::optional<WatchRequest> DecodeRequest(absl::string_view line);
std::optional<RankStatus> DecodeStatus(absl::string_view line);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_WATCH_MESSAGE_H_
