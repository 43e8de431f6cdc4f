// A disk as a power cut may leave it: everything that was synced, and any part of everything else.
// Folders and files are named by paths relative to the root, which is the folder that is recorded.
#ifndef HPC_TESTS_TESTING_DISK_DISK_IMAGE_H_
#define HPC_TESTS_TESTING_DISK_DISK_IMAGE_H_

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace hpc::testing {

// One thing that was done to a file or a folder. `file` is the number of a file or folder, whatever
// its name is; the root has the number 0.
struct DiskOperation {
  enum class Kind {
    kWrite,     // `data` at `offset`
    kTruncate,  // to `offset` bytes
    kSync,      // the content of a file, or the names in a folder
    kSyncAll,
    kLink,    // `file` gets the name `name` in `folder`, whatever had it before; `is_folder`
    kUnlink,  // `name` in `folder` is removed
    kRename,  // `name` in `folder` becomes `new_name` in `new_folder`
  };
  Kind kind = Kind::kSync;
  int file = 0;
  int64_t offset = 0;
  std::string data;
  int folder = 0, new_folder = 0;
  std::string name, new_name;
  bool is_folder = false;

  std::string ToString() const;
};

enum class Leftover {
  kAllThatWasDone,    // a process was killed
  kAllThatWasSynced,  // a power cut, and nothing else had reached the disk
  kNamesWithoutData,  // all names had reached the disk, and no writes that were not synced
  kAnyPart,           // any part of the names and writes; writes are torn at any sector
};
inline constexpr int kLeftovers = 4;
const char* Name(Leftover left);

class DiskImage {
 public:
  void Apply(const DiskOperation& operation);

  struct Entry {
    bool is_folder = false;
    std::string content;
  };
  // What is left, by path. Folders come before what is in them.
  std::map<std::string, Entry> Left(Leftover left, std::mt19937* random) const;

 private:
  using Names = std::map<int, std::map<std::string, int>>;  // by folder
  struct File {
    std::string synced;
    std::vector<DiskOperation> pending;  // writes and truncations since the last sync
  };

  static void Change(const DiskOperation& operation, Names* names);
  void SyncNames(int folder);
  static std::string ContentOf(const File& file, Leftover left, std::mt19937* random);
  void AddFolder(int folder, const std::string& path, const Names& names, Leftover left,
                 std::mt19937* random, std::map<std::string, Entry>* out) const;

  std::set<int> folders_ = {0};
  std::map<int, File> files_;
  Names synced_names_;
  std::vector<DiskOperation> pending_names_;  // in order
};

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_DISK_IMAGE_H_
