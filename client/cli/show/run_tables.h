// The tables of a run's story. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_RUN_TABLES_H_
#define HPC_CLIENT_CLI_SHOW_RUN_TABLES_H_

#include <string>

#include "client/cli/forms/listing.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

Listing AttemptTable(const v1::RunDetail& detail, const ListingForm& form);
Listing PlacementTable(const v1::RunDetail& detail, const ListingForm& form);
Listing RankTable(const v1::RunDetail& detail, const ListingForm& form);
Listing MetricTable(const v1::RunDetail& detail, const ListingForm& form);
Listing LogStreamTable(const v1::RunDetail& detail, const ListingForm& form);

// Writes the pairs as a JSON object.
void WritePairs(const google::protobuf::RepeatedPtrField<v1::KeyValue>& pairs, JsonWriter* json);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_RUN_TABLES_H_
