// A folder for one test, and files in it.
#ifndef HPC_WORKER_TESTING_TEMP_DIR_H_
#define HPC_WORKER_TESTING_TEMP_DIR_H_

#include <stdlib.h>

#include <fstream>
#include <string>

#include "common/files/files.h"

namespace hpc::testing {

class TempDir {
 public:
  TempDir() {
    char folder[] = "/tmp/hpc-worker-test-XXXXXX";
    path_ = mkdtemp(folder);
  }
  ~TempDir() { (void)RemoveTree(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  void Append(const std::string& name, const std::string& text) const {
    std::ofstream(File(name), std::ios::app | std::ios::binary) << text;
  }

 private:
  std::string path_;
};

}  // namespace hpc::testing

#endif  // HPC_WORKER_TESTING_TEMP_DIR_H_
