#include "client/cli/hints/address_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::RunSpec OnTwoNodes(const std::vector<std::string>& command) {
  v1::RunSpec run;
  run.set_min_nodes(2);
  run.set_max_nodes(2);
  for (const std::string& word : command) run.add_command(word);
  return run;
}

TEST(AddressCheckTest, AnAddressOfTheRunsOwnIsHintedAt) {
  EXPECT_THAT(
      MasterAddressHint(OnTwoNodes({"bash", "-c", "RANK=$RANK MASTER_PORT=29500 python x.py"}), ""),
      StartsWith("the script's MASTER_PORT takes the place of hpcctl's"));
  EXPECT_THAT(MasterAddressHint(OnTwoNodes({"./train.sh"}),
                                "#!/bin/bash\nexport MASTER_ADDR=$(hostname)\npython x.py\n"),
              HasSubstr("the script's MASTER_ADDR"));
  EXPECT_THAT(
      MasterAddressHint(OnTwoNodes({"python", "x.py"}), "os.environ['MASTER_PORT'] = '29500'\n"),
      HasSubstr("the script's MASTER_PORT"));
  v1::RunSpec option = OnTwoNodes({"python", "x.py"});
  option.add_env()->set_key("MASTER_PORT");
  EXPECT_THAT(MasterAddressHint(option, ""), HasSubstr("--env MASTER_PORT"));
}

TEST(AddressCheckTest, WhereSomebodyServesThereNothingIsSaid) {
  const std::vector<std::string> command = {"bash", "-c", "MASTER_PORT=29500 python x.py"};
  v1::RunSpec per_node = OnTwoNodes(command), rank0 = OnTwoNodes(command),
              one = OnTwoNodes(command);
  per_node.set_mode(v1::LAUNCH_MODE_PER_NODE);
  rank0.set_store_host(v1::STORE_HOST_RANK0);
  one.set_max_nodes(1);
  for (const v1::RunSpec& run : {per_node, rank0, one}) EXPECT_EQ(MasterAddressHint(run, ""), "");
}

TEST(AddressCheckTest, WhatOnlyUsesOursPasses) {
  for (const char* text :
       {"echo $MASTER_ADDR:$MASTER_PORT", "MASTER_ADDR=${MASTER_ADDR:-localhost} python x.py",
        "[ -z \"$MASTER_ADDR\" ] && export MASTER_ADDR=localhost", "# MASTER_ADDR=10.0.0.1",
        "python x.py --master MASTER_ADDR"}) {
    EXPECT_EQ(MasterAddressHint(OnTwoNodes({"bash", "-c", text}), ""), "") << text;
  }
  for (const char* text : {"os.environ.setdefault('MASTER_ADDR', 'localhost')",
                           "print(os.environ['MASTER_ADDR'] == 'x')",
                           "os.environ['MASTER_ADDR'] = 'localhost'\nmp.spawn(main)"}) {
    EXPECT_EQ(MasterAddressHint(OnTwoNodes({"python", "x.py"}), text), "") << text;
  }
}

}  // namespace
}  // namespace hpc::client
