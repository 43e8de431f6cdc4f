// Records call by call what the program under test does to the files below a folder. If a test
// program links this, the C library's calls that change files are replaced by calls that record
// first (recorded_folder.cc lists them). It sees these calls whoever makes them, including SQLite.
// For programs with one thread.
#ifndef HPC_TESTS_TESTING_DISK_RECORDED_FOLDER_H_
#define HPC_TESTS_TESTING_DISK_RECORDED_FOLDER_H_

#include <string>
#include <vector>

#include "tests/testing/disk/disk_image.h"

namespace hpc::testing {

struct Recording {
  std::vector<DiskOperation> beginning;  // the operations that make what was there before
  std::vector<DiskOperation> operations;
};

class RecordedFolder {
 public:
  // Begins with what is there, which counts as synced. There can be only one recording at a time.
  explicit RecordedFolder(const std::string& path);
  ~RecordedFolder();
  RecordedFolder(const RecordedFolder&) = delete;
  RecordedFolder& operator=(const RecordedFolder&) = delete;

  // How many operations there have been so far.
  size_t done() const;
  // Ends the recording.
  Recording Stop();
};

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_RECORDED_FOLDER_H_
