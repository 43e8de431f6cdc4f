#include "train/group/reason.h"

#include <c10/util/Exception.h>

#include <stdexcept>

#include "gtest/gtest.h"

namespace hpc::train {
namespace {

// Throws it as LibTorch does.
std::string WhatOf(const std::exception& error, std::string* reason) {
  *reason = ReasonOf(error);
  return error.what();
}

TEST(Reason, HasNoStack) {
  std::string reason, what;
  try {
    TORCH_CHECK(false, "Operation timed out!");
  } catch (const std::exception& error) {
    what = WhatOf(error, &reason);
  }
  EXPECT_NE(what.find("Exception raised from"), std::string::npos) << "nothing to leave out";
  EXPECT_EQ(reason, "Operation timed out!");
  EXPECT_EQ(ReasonOf(std::runtime_error("wrapped: " + what)), "wrapped: Operation timed out!");
}

TEST(Reason, HasNoFileAndNoAdviceOfGloo) {
  EXPECT_EQ(ReasonOf(std::runtime_error("[../third_party/gloo/gloo/transport/tcp/pair.cc:537] "
                                        "Connection closed by peer [127.0.0.1]:4711. This is "
                                        "typically caused by a remote worker crashing. Check")),
            "Connection closed by peer [127.0.0.1]:4711.");
  EXPECT_EQ(ReasonOf(std::runtime_error("[1, 2] is no shape")), "[1, 2] is no shape");
  EXPECT_EQ(ReasonOf(std::runtime_error("open x:\nno such file")), "open x: no such file");
}

}  // namespace
}  // namespace hpc::train
