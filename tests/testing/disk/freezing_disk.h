// A separate disk that can be made to hang. Whoever writes to it then is stuck, whatever signal
// comes, as with a dying disk or a lost network disk.
#ifndef HPC_TESTS_TESTING_DISK_FREEZING_DISK_H_
#define HPC_TESTS_TESTING_DISK_FREEZING_DISK_H_

#include <sys/types.h>

#include <string>

namespace hpc::testing {

class FreezingDisk {
 public:
  // Mounts an empty disk at the folder `at`. That takes root and the tools of ext4.
  explicit FreezingDisk(std::string at);
  // Thaws the disk and removes it.
  ~FreezingDisk();
  FreezingDisk(const FreezingDisk&) = delete;
  FreezingDisk& operator=(const FreezingDisk&) = delete;

  bool mounted() const { return mounted_; }
  // False: the disk cannot be frozen.
  bool Freeze();
  void Thaw();

 private:
  std::string at_, image_;
  bool mounted_ = false;
  pid_t guard_ = -1;  // thaws it if we do not live to do so
};

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_FREEZING_DISK_H_
