// How a rank ended, in words.
#ifndef HPC_COORDINATOR_CORE_VALUES_EXIT_WORDS_H_
#define HPC_COORDINATOR_CORE_VALUES_EXIT_WORDS_H_

#include <cstdint>
#include <string>

#include "coordinator/core/values/records.h"
#include "protocol/rank_exit.h"

namespace hpc::coordinator {

// "exited with code 1: ValueError: bad shape", "was killed by SIGKILL: <message>". Only the telling
// line of the message is shown.
std::string ExitWords(const protocol::RankExit& exit);

// The code that a shell would show: 128 + n for a signal.
int32_t ShellCode(const protocol::RankExit& exit);

// Whether it exited with 0 without having been told to end.
bool SucceededByItself(const protocol::RankExit& exit);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_EXIT_WORDS_H_
