#include "common/telling_line.h"

#include <gtest/gtest.h>

namespace hpc {
namespace {

TEST(TellingLineTest, TheExceptionTellsMoreThanWhatIsPrintedAroundIt) {
  EXPECT_EQ(
      TellingLine("[rank1]: Traceback (most recent call last):\n"
                  "[rank1]:   File \"train.py\", line 3, in <module>\n"
                  "[rank1]: ValueError: bad batch 17\n"
                  "[rank1]:[W1121 socket.cpp:1] Warning: destroy_process_group() was not called\n"),
      "ValueError: bad batch 17");
  EXPECT_EQ(TellingLine("torch.cuda.OutOfMemoryError: CUDA out of memory\n"),
            "torch.cuda.OutOfMemoryError: CUDA out of memory");
  EXPECT_EQ(TellingLine("KeyboardInterrupt"), "KeyboardInterrupt");
  EXPECT_EQ(TellingLine(" \n"), "");
}

TEST(TellingLineTest, ALaunchersExceptionTellsLessThanThatOfItsProcess) {
  EXPECT_EQ(TellingLine("ValueError: bad batch 17\n"
                        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                        "====\n"),
            "ValueError: bad batch 17");
}

TEST(TellingLineTest, AProgressBarsLastStateIsALine) {
  EXPECT_EQ(TellingLine("\r10%\r20%\rout of disk"), "out of disk");
}

}  // namespace
}  // namespace hpc
