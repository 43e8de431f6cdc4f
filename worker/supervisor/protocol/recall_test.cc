#include "worker/supervisor/protocol/recall.h"

#include <gtest/gtest.h>

namespace hpc::worker {
namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef";

TEST(RecallQuestionTest, IsUnderstoodByWhoHasTheKey) {
  EXPECT_EQ(ParseRecallQuestion(RecallQuestion(kKey, 500), kKey), 500);
  EXPECT_EQ(ParseRecallQuestion(RecallQuestion(kKey, 0), kKey), 0);
  const int64_t year = int64_t{365} * 24 * 3600 * 1000;
  EXPECT_EQ(ParseRecallQuestion(RecallQuestion(kKey, year), kKey), year);
  EXPECT_LE(RecallQuestion(kKey, year).size(), kMaxRecallQuestion);
}

TEST(RecallQuestionTest, NothingElseIs) {
  const std::string right = RecallQuestion(kKey, 500);
  std::string other = kKey;
  other.back() = '0';
  EXPECT_FALSE(ParseRecallQuestion(right, other));
  EXPECT_FALSE(ParseRecallQuestion(right, "")) << "a supervisor without a key";
  for (const std::string& wrong :
       {std::string(), std::string("\n"), right.substr(0, right.size() - 1), right + "\n",
        right.substr(0, 20), "hpc-recall " + kKey + " \n", "hpc-recall " + kKey + "\n",
        "hpc-recall " + kKey + " -1\n", "hpc-recall " + kKey + " 5x\n",
        "hpc-recall " + kKey + " 99999999999999999999\n", "HPC-recall " + kKey + " 500\n",
        std::string("GET / HTTP/1.1\r\n"), std::string(kMaxRecallQuestion + 1, 'a')}) {
    EXPECT_FALSE(ParseRecallQuestion(wrong, kKey)) << wrong;
  }
}

}  // namespace
}  // namespace hpc::worker
