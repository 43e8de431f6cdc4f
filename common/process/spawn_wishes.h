// posix_spawn's two sets of attributes, for a program that must inherit nothing of ours.
#ifndef HPC_COMMON_PROCESS_SPAWN_WISHES_H_
#define HPC_COMMON_PROCESS_SPAWN_WISHES_H_

#include <signal.h>
#include <spawn.h>

namespace hpc {

struct SpawnWishes {
  // Puts the program into a group (POSIX_SPAWN_SETPGROUP) or session (POSIX_SPAWN_SETSID) of its
  // own. A daemon blocks and ignores signals that the program must hear. So the program starts with
  // no signal blocked and the default action for each.
  explicit SpawnWishes(int of_its_own) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, static_cast<short>(of_its_own | POSIX_SPAWN_SETSIGMASK |
                                                             POSIX_SPAWN_SETSIGDEF));
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
  }
  ~SpawnWishes() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnWishes(const SpawnWishes&) = delete;
  SpawnWishes& operator=(const SpawnWishes&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_SPAWN_WISHES_H_
