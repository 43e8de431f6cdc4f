// Commands that take several runs refuse a wrong one before they do anything.
#ifndef HPC_CLIENT_CLI_EXISTING_RUNS_H_
#define HPC_CLIENT_CLI_EXISTING_RUNS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "client/api.h"
#include "common/status_macros.h"

namespace hpc::client {

// NotFound: names the first of `runs` that does not exist.
inline absl::Status CheckExist(Client* client, const std::vector<int64_t>& runs) {
  for (const int64_t run : runs) HPC_RETURN_IF_ERROR(client->GetRun(run).status());
  return absl::OkStatus();
}

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_EXISTING_RUNS_H_
