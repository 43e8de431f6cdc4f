// A disk of its own that can be made to hang: whoever writes to it then stays there, against any
// signal, as with a dying disk or a lost network one.
#ifndef HPC_TESTS_TESTING_DISK_FREEZING_DISK_H_
#define HPC_TESTS_TESTING_DISK_FREEZING_DISK_H_

#include <sys/types.h>

#include <string>

namespace hpc::testing {

class FreezingDisk {
 public:
  // Mounts an empty one at the folder `at`. That takes root and the tools of ext4.
  explicit FreezingDisk(std::string at);
  // Goes on, and is gone.
  ~FreezingDisk();
  FreezingDisk(const FreezingDisk&) = delete;
  FreezingDisk& operator=(const FreezingDisk&) = delete;

  bool mounted() const { return mounted_; }
  // False: it cannot.
  bool Freeze();
  void Thaw();

 private:
  std::string at_, image_;
  bool mounted_ = false;
  pid_t guard_ = -1;  // thaws it should we not live to
};

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_FREEZING_DISK_H_
