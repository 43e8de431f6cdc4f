#include "common/files/sha256.h"

#include "gtest/gtest.h"

namespace hpc {
namespace {

TEST(Sha256, IsThatOfThePiecesTogether) {
  constexpr char kOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(Sha256Hex("abc"), kOfAbc);
  Sha256 hash;
  hash.Add("a");
  hash.Add("");
  hash.Add("bc");
  EXPECT_EQ(hash.Hex(), kOfAbc);
}

}  // namespace
}  // namespace hpc
