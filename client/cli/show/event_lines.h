// Shows events, one line for each. For people they are in columns of fixed width, so that no event
// must be known in advance; for programs they are JSON. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_EVENT_LINES_H_
#define HPC_CLIENT_CLI_SHOW_EVENT_LINES_H_

#include <string>

#include "client/cli/forms/listing.h"
#include "hpc/v1/event.pb.h"

namespace hpc::client {

// Returns a JSON object.
std::string EventJson(const v1::Event& event);

// Returns "2026-11-21 07:40:30  run 12.1    pc2       node lost: ...", or the JSON object, with a
// line end.
std::string EventLine(const v1::Event& event, const ListingForm& form);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_EVENT_LINES_H_
