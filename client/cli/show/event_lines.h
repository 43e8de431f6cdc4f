// Events, a line each: for people in columns that need no look ahead, or as JSON. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_EVENT_LINES_H_
#define HPC_CLIENT_CLI_SHOW_EVENT_LINES_H_

#include <string>

#include "client/cli/show/listing.h"
#include "hpc/v1/event.pb.h"

namespace hpc::client {

// A JSON object.
std::string EventJson(const v1::Event& event);

// "2026-11-21 07:40:30  run 12.1    pc2       node lost: ...", or the JSON object; with a line end.
std::string EventLine(const v1::Event& event, const ListingForm& form);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_EVENT_LINES_H_
