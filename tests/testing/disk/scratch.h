// A folder to record in, and one beside it for what is left of it. Both are removed at the end.
#ifndef HPC_TESTS_TESTING_DISK_SCRATCH_H_
#define HPC_TESTS_TESTING_DISK_SCRATCH_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace hpc::testing {

class Scratch {
 public:
  Scratch() : parent_(Parent() + "disk_XXXXXX") {
    if (mkdtemp(parent_.data()) == nullptr) abort();
    std::filesystem::create_directory(folder());
  }
  ~Scratch() { std::filesystem::remove_all(parent_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& parent() const { return parent_; }
  std::string folder() const { return parent_ + "/recorded"; }

 private:
  // In memory where possible, since syncs are only recorded and not waited for.
  static std::string Parent() {
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : ::testing::TempDir();
  }

  std::string parent_;
};

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_SCRATCH_H_
