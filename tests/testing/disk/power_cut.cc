#include "tests/testing/disk/power_cut.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "absl/strings/str_cat.h"

namespace hpc::testing {
namespace {

size_t FromEnv(const char* name, size_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoul(value);
}

uint32_t Seed() { return static_cast<uint32_t>(FromEnv("HPC_SEED", 1)); }

void Make(const std::map<std::string, DiskImage::Entry>& left, const std::string& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  for (const auto& [path, entry] : left) {
    const std::string place = absl::StrCat(folder, "/", path);
    if (entry.is_folder) {
      std::filesystem::create_directory(place);
    } else {
      std::ofstream(place, std::ios::binary) << entry.content;
    }
  }
}

std::string Describe(const Recording& recording, const PowerCut& cut) {
  const std::string last =
      cut.done == 0 ? "nothing" : recording.operations[cut.done - 1].ToString();
  return absl::StrCat("after ", cut.done, " of ", recording.operations.size(), " operations (",
                      last, "), left is ", Name(cut.left), "; HPC_SEED=", Seed());
}

}  // namespace

size_t ForEachPowerCut(const Recording& recording, const PowerCutOptions& options,
                       const std::function<void(const PowerCut&)>& check) {
  std::mt19937 random(Seed());
  DiskImage image;
  for (const DiskOperation& operation : recording.beginning) image.Apply(operation);
  const size_t each = kLeftovers - 1 + static_cast<size_t>(options.torn);
  const size_t all = (recording.operations.size() + 1) * each;
  const size_t most = FromEnv("HPC_CUTS", options.most);
  size_t cuts = 0;
  for (size_t done = 0; done <= recording.operations.size(); ++done) {
    if (done > 0) image.Apply(recording.operations[done - 1]);
    for (size_t i = 0; i < each; ++i) {
      if (all > most && random() % all >= most) continue;
      PowerCut cut{.done = done, .folder = options.parent + "/left"};
      cut.left = i < kLeftovers ? static_cast<Leftover>(i) : Leftover::kAnyPart;
      Make(image.Left(cut.left, &random), cut.folder);
      ++cuts;
      SCOPED_TRACE(Describe(recording, cut));
      check(cut);
      if (::testing::Test::HasFailure()) return cuts;
    }
  }
  std::filesystem::remove_all(options.parent + "/left");
  std::cout << "looked at " << cuts << " of " << all << " cuts in " << recording.operations.size()
            << " operations, HPC_SEED=" << Seed() << std::endl;
  return cuts;
}

}  // namespace hpc::testing
