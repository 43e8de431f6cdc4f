// Times as people and programs read them. A time of 0, which means "has not happened" on the wire,
// is "-". Pure but for the local time zone.
#ifndef HPC_CLIENT_CLI_FORMS_TIMES_H_
#define HPC_CLIENT_CLI_FORMS_TIMES_H_

#include <cstdint>
#include <string>

namespace hpc::client {

// Returns "just now", "12 s ago", "3 min ago", "2 h ago" or "4 d ago"; beyond a week the local date
// and time; "in 2 h" for a time to come. Both arguments are in microseconds by the coordinator's
// clock.
std::string Ago(int64_t us, int64_t now_us);

// Returns "2026-11-21 07:40:30" in the local time zone.
std::string LocalTime(int64_t us);

// Returns "2026-11-21T07:40:30.123456Z".
std::string UtcTime(int64_t us);

// Returns the time between two moments, "4 min 10 s". An end of 0 is taken as `now_us`.
std::string Took(int64_t start_us, int64_t end_us, int64_t now_us);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FORMS_TIMES_H_
