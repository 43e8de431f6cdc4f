// Tests how NCCL is found, against the stand-in.
#include "train/nccl/nccl_library.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const std::vector<std::string>& candidates) {
  try {
    LoadNccl(candidates);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(NcclLibrary, TheFirstThatLoadsIsTaken) {
  const auto library = LoadNccl({"/nowhere/libnccl.so.2", HPC_FAKE_NCCL, HPC_FAKE_NCCL_OLD});
  EXPECT_EQ(library->path, HPC_FAKE_NCCL);
  EXPECT_EQ(NcclVersionText(library->version), "2.29.7");
  EXPECT_NE(library->comm_revoke, nullptr);
}

TEST(NcclLibrary, AnOlderOneDoesWithoutNewerCalls) {
  const auto library = LoadNccl({HPC_FAKE_NCCL_OLD});
  EXPECT_EQ(NcclVersionText(library->version), "2.18.5");
  EXPECT_EQ(library->comm_revoke, nullptr);
}

TEST(NcclLibrary, WhereThereIsNoneAllThatWasLookedForIsNamed) {
  EXPECT_THAT(ErrorOf({"/nowhere/libnccl.so.2", "/nor/here/libnccl.so.2"}),
              AllOf(HasSubstr("/nowhere/libnccl.so.2: cannot open"), HasSubstr("/nor/here/"),
                    HasSubstr("nvidia-nccl-cu13"), HasSubstr("HPC_NCCL_LIBRARY")));
}

TEST(NcclLibrary, WhatIsNoNcclIsSaidToBeNone) {
  EXPECT_THAT(ErrorOf({"libc.so.6"}), AllOf(HasSubstr("libc.so.6 is NCCL 0.0.0, without ncclGet"),
                                            HasSubstr("2.14.0 or newer is needed")));
}

TEST(NcclLibrary, TheNamedOneAloneIsTried) {
  unsetenv("HPC_NCCL_LIBRARY");
  EXPECT_THAT(NcclCandidates("/torch/lib"),
              ElementsAre("libnccl.so.2", "/torch/lib/../../nvidia/nccl/lib/libnccl.so.2"));
  setenv("HPC_NCCL_LIBRARY", "/mine/libnccl.so", 1);
  EXPECT_THAT(NcclCandidates("/torch/lib"), ElementsAre("/mine/libnccl.so"));
  unsetenv("HPC_NCCL_LIBRARY");
}

}  // namespace
}  // namespace hpc::train
