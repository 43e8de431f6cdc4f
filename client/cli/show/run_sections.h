// The complete story of a run, in sections. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_RUN_SECTIONS_H_
#define HPC_CLIENT_CLI_SHOW_RUN_SECTIONS_H_

#include <string>

#include "client/cli/forms/listing.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// For people it is a head and titled tables, without the empty ones. As JSON it is one object that
// holds the same, with one array for each table.
std::string RunStory(const v1::RunDetail& detail, const ListingForm& form);

// Shows to people the variables that the ranks of each node were given, one a line. Where ranks
// differ, the line has all values, separated by commas.
std::string EnvironmentStory(const v1::RunDetail& detail);

// Returns `words` as one line that a shell would read as the same words.
std::string ShellLine(const google::protobuf::RepeatedPtrField<std::string>& words);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_RUN_SECTIONS_H_
