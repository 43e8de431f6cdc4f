// Runs as `hpcctl runs` lists them, or side by side for comparison. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_RUN_LISTING_H_
#define HPC_CLIENT_CLI_SHOW_RUN_LISTING_H_

#include <string>
#include <vector>

#include "client/cli/forms/listing.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Has one row for each run. As JSON it includes parameters and metrics.
Listing RunListing(const ListingForm& form);
void AddRun(const v1::Run& run, Listing* listing);

// Sorts by a metric: "loss" by its last value, "loss:min" and "loss:max" by the smallest and the
// largest, "-loss" from the largest down. Where no run has such a metric, sorts by the parameter of
// that name: numbers, then texts. Runs without it come last. False: none has it.
bool SortRuns(const std::string& key, std::vector<v1::Run>* runs);
// Whether one of the runs has the metric, written as for SortRuns.
bool HasMetric(const std::vector<v1::Run>& runs, absl::string_view key);

// A table with a column for each parameter and for a value of each metric.
struct Comparison {
  std::string table;
  std::vector<std::string> left_out;  // metrics for which there was no room
};
// `metrics`: only these are shown, written as for SortRuns. Empty: the first few of all, by name.
Comparison CompareRuns(const std::vector<v1::Run>& runs, const std::vector<std::string>& metrics,
                       const ListingForm& form);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_RUN_LISTING_H_
