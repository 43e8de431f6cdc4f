#include "coordinator/runtime/wake_hook.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

// Waits for the hook without a clock: reading a FIFO ends when the last writer is gone.
std::string ReadFifo(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY));
  std::string out;
  char buffer[256];
  for (ssize_t n; (n = read(fd.get(), buffer, sizeof(buffer))) > 0;) {
    out.append(buffer, static_cast<size_t>(n));
  }
  return out;
}

TEST(WakeHook, TheEnvironmentNamesTheNodeAndItsHardwareAddresses) {
  EXPECT_THAT(WakeHookEnvironment({.node = "pc1",
                                   .interfaces = {{.mac = "aa:aa:aa:aa:aa:aa"},
                                                  {.name = "vpn"},
                                                  {.mac = "bb:bb:bb:bb:bb:bb"}},
                                   .packet = 2}),
              ElementsAre("HPC_NODE=pc1", "HPC_MACS=aa:aa:aa:aa:aa:aa bb:bb:bb:bb:bb:bb",
                          "HPC_WAKE_PACKET=2"));
}

TEST(WakeHook, RunsTheCommandInAShell) {
  const TempDir dir;
  const std::string fifo = dir.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  WakeHook hook("echo \"$HPC_NODE $HPC_MACS\" > '" + fifo + "'");
  ASSERT_OK(hook.Wake({.node = "pc1", .interfaces = {{.mac = "aa:bb:cc:dd:ee:ff"}}}));
  EXPECT_EQ(ReadFifo(fifo), "pc1 aa:bb:cc:dd:ee:ff\n");
}

TEST(WakeHook, DoesNotStartASecondOneWhileTheFirstRuns) {
  const TempDir dir;
  const std::string fifo = dir.File("fifo"), count = dir.File("count");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  WakeHook hook("echo x >> '" + count + "'; echo done > '" + fifo + "'");
  ASSERT_OK(hook.Wake({.node = "pc1"}));
  ASSERT_OK(hook.Wake({.node = "pc1"}));  // this hook waits for a reader of the FIFO
  EXPECT_EQ(hook.Reap(), 1U);
  EXPECT_EQ(ReadFifo(fifo), "done\n");
  EXPECT_EQ(*ReadFile(count), "x\n");
}

}  // namespace
}  // namespace hpc::coordinator
