#include "worker/os/shared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hpc::worker {
namespace {

using ::testing::UnorderedElementsAre;

constexpr uid_t kAccount = 61'234, kOther = 61'235;

// As root only: files of other accounts, and processes of theirs.
class SharedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make files of other accounts";
    ASSERT_NE(mkdtemp(dir_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void Make(const std::string& name, uid_t owner) const {
    std::ofstream(dir_ + "/" + name) << std::string(8192, 'x');
    ASSERT_EQ(chown((dir_ + "/" + name).c_str(), owner, 0), 0);
  }
  std::vector<std::string> Left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  std::string dir_ = testing::TempDir() + "shm_XXXXXX";
};

TEST_F(SharedMemoryTest, WhatLibrariesHaveLeftOfAnAccountThatIsGoneIsRemoved) {
  for (const char* name :
       {"psm_12abcdef", "sem.mp-xy12_ab9", "torch_77_1205_0", "sem.loky-77-ab12", "nccl-Ab12Cd"}) {
    Make(name, kAccount);
  }
  const SharedMemoryRemoved removed = RemoveSharedMemory(dir_, kAccount);
  EXPECT_EQ(removed.files, 5);
  EXPECT_EQ(removed.bytes, 5 * 8192);
  EXPECT_THAT(Left(), UnorderedElementsAre());
}

TEST_F(SharedMemoryTest, OfAnotherAccountAndOfAnotherNameNothingIsTouched) {
  Make("psm_12345678", kOther);
  const std::vector<std::string> peoples = {"dataset.bin", "psm_cache", "psm_12abcdef0",
                                            "torch_dataset.pt", "nccl-topology.xml"};
  for (const std::string& name : peoples) Make(name, kAccount);
  std::filesystem::create_symlink("/etc/passwd", dir_ + "/psm_0123abcd");
  EXPECT_EQ(RemoveSharedMemory(dir_, kAccount).files, 0);
  EXPECT_EQ(Left().size(), peoples.size() + 2);
}

TEST_F(SharedMemoryTest, WhileAProcessOfTheAccountLivesAllOfItStays) {
  Make("psm_00000001", kAccount);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool changed = setuid(kAccount) == 0;
    (void)!write(ready[1], "x", 1);
    if (changed) pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(RemoveSharedMemory(dir_, kAccount).files, 0);
  EXPECT_THAT(Left(), UnorderedElementsAre("psm_00000001"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(RemoveSharedMemory(dir_, kAccount).files, 1);
}

TEST(SharedMemoryDirTest, AFolderThatIsNotThereHoldsNothing) {
  EXPECT_EQ(RemoveSharedMemory("/no/such/folder", kAccount).files, 0);
}

}  // namespace
}  // namespace hpc::worker
