// Times as people and programs read them. The zero of the wire ("has not happened") is "-". Pure
// but for the local time zone.
#ifndef HPC_CLIENT_CLI_SHOW_TIMES_H_
#define HPC_CLIENT_CLI_SHOW_TIMES_H_

#include <cstdint>
#include <string>

namespace hpc::client {

// "just now", "12 s ago", "3 min ago", "2 h ago", "4 d ago"; beyond a week the local date and time;
// "in 2 h" for what is to come. Both in microseconds by the coordinator's clock.
std::string Ago(int64_t us, int64_t now_us);

// "2026-11-21 07:40:30" in the local time zone.
std::string LocalTime(int64_t us);

// "2026-11-21T07:40:30.123456Z".
std::string UtcTime(int64_t us);

// The time between two moments, "4 min 10 s"; an end of 0 is taken as `now_us`.
std::string Took(int64_t start_us, int64_t end_us, int64_t now_us);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_TIMES_H_
