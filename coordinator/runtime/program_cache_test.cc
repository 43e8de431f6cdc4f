#include "coordinator/runtime/program_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace hpc::coordinator {
namespace {

std::shared_ptr<const RunProgram> Sized(size_t bytes) {
  RunProgram program;
  program.workdir = std::string(bytes, 'x');
  return std::make_shared<const RunProgram>(program);
}

TEST(ProgramCache, KeepsTheNewestThatFit) {
  ProgramCache cache(5000);
  cache.Put(1, Sized(1500));
  cache.Put(2, Sized(1500));
  cache.Put(3, Sized(1500));
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_NE(cache.Get(2), nullptr);
  EXPECT_NE(cache.Get(3), nullptr);
  EXPECT_LE(cache.bytes(), 5000U);
}

TEST(ProgramCache, OneThatIsLargerThanAllIsNotKept) {
  ProgramCache cache(5000);
  cache.Put(1, Sized(100));
  cache.Put(2, Sized(6000));
  EXPECT_NE(cache.Get(1), nullptr);
  EXPECT_EQ(cache.Get(2), nullptr);
}

TEST(ProgramCache, ForgetsWhatIsErased) {
  ProgramCache cache(5000);
  cache.Put(1, Sized(100));
  cache.Erase(1);
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_EQ(cache.bytes(), 0U);
}

}  // namespace
}  // namespace hpc::coordinator
