// What the program under test does to the files below a folder, written down call by call: a test
// program that links this has the C library's calls that change files replaced by ones that tell
// first (recorded_folder.cc lists them). Whatever makes them is seen, SQLite too. One thread.
#ifndef HPC_TESTS_TESTING_DISK_RECORDED_FOLDER_H_
#define HPC_TESTS_TESTING_DISK_RECORDED_FOLDER_H_

#include <string>
#include <vector>

#include "tests/testing/disk/disk_image.h"

namespace hpc::testing {

struct Recording {
  std::vector<DiskOperation> beginning;  // that make what was there
  std::vector<DiskOperation> operations;
};

class RecordedFolder {
 public:
  // Begins with what is there, which counts as synced. One at a time.
  explicit RecordedFolder(const std::string& path);
  ~RecordedFolder();
  RecordedFolder(const RecordedFolder&) = delete;
  RecordedFolder& operator=(const RecordedFolder&) = delete;

  // How many operations there have been so far.
  size_t done() const;
  // Nothing is written down any more.
  Recording Stop();
};

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_RECORDED_FOLDER_H_
