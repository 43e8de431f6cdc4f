// What the coordinator's administrator can choose, on the command line, in the environment and in a
// file.
#ifndef HPC_COORDINATOR_OPTIONS_H_
#define HPC_COORDINATOR_OPTIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/files/coordinator_paths.h"
#include "common/net/endpoint.h"
#include "common/process/log.h"

namespace hpc::coordinator {

struct Options {
  std::string state_dir;
  std::optional<Endpoint> listen;  // TCP
  bool insecure = false;           // anyone may do anything over TCP, in plain text; loopback only
  std::string socket;
  std::string admin_group;      // a Unix group; its members are admins
  std::string authority_key;    // path; "": in the state directory
  std::string passphrase_file;  // passphrase of the authority's key; "": it has none
  int ready_fd = -1;
  absl::Duration lease = absl::Seconds(6);
  int32_t runs_per_user = 20'000;
  int32_t user_priority = 1000;
  absl::Duration reconnect_grace = absl::Seconds(3);
  absl::Duration last_call = absl::Seconds(2);
  absl::Duration grow_steady = absl::Seconds(30);
  absl::Duration restart_backoff = absl::Seconds(1);
  int32_t loss_retries = 10;
  LogLevel log_level = LogLevel::kInfo;
  std::string wake_hook;     // "": magic packets
  std::string restore_from;  // a backup to make the state directory from; "": run
};

// What to print instead of running: text was asked for (--help, --version), or the usage is wrong.
struct Answer {
  std::string text;
  bool error = false;
};

struct ParsedOptions {
  Options options;
  std::optional<Answer> answer;
};

// `defaults` are used for what is not given. With another state directory, the socket is in there.
ParsedOptions ParseOptions(int argc, const char* const* argv, const CoordinatorPaths& defaults);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_OPTIONS_H_
