#include "worker/os/devices/nvml_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/os/devices/device_probe.h"
#include "worker/os/run_command.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// NVML lists these GPUs against the order of the bus.
constexpr char kTwoGpus[] = R"(driver 550.54.14
device
pci 00000000:41:00.0
uuid GPU-41
name NVIDIA GeForce RTX 3090
memory 25769803776 2147483648
utilization 97
compute 101 2000000000
graphics 102 -
device
pci 00000000:0A:00.0
uuid GPU-0a
name NVIDIA GeForce GTX 1080
memory 8589934592 1048576
utilization 0
)";

// The fake library (tests/testing/fake_nvml) answers from the file that Say writes.
class NvmlProbeTest : public ::testing::Test {
 protected:
  static std::string StatePath() { return absl::StrCat(::testing::TempDir(), "/nvml_", getpid()); }
  static std::string Root() { return ::testing::TempDir() + "/nvml_root"; }

  static void SetUpTestSuite() {
    setenv("FAKE_NVML_STATE", StatePath().c_str(), 1);
    setenv("HPC_NVML_LIBRARY", HPC_FAKE_NVML, 1);
    std::filesystem::create_directories(Root() + "/proc/101");
    std::filesystem::create_directories(Root() + "/proc/102");
    std::ofstream(Root() + "/proc/101/comm") << "python\n";
    std::ofstream(Root() + "/proc/102/comm") << "game.exe\n";
  }

  static void Say(const std::string& state) { ASSERT_OK(WriteFileAtomically(StatePath(), state)); }

  static std::unique_ptr<NvmlProbe> Open() {
    auto probe = NvmlProbe::Open({.library = HPC_FAKE_NVML,
                                  .start_limit = absl::Minutes(1),
                                  .usage_limit = absl::Minutes(1),
                                  .root = Root()});
    EXPECT_OK(probe);
    return *std::move(probe);
  }
};

TEST_F(NvmlProbeTest, ListsGpusInPciBusOrder) {
  Say(kTwoGpus);
  auto probe = Open();
  EXPECT_THAT(probe->Devices(), ElementsAre(protocol::Device{.index = 0,
                                                             .kind = protocol::DeviceKind::kGpu,
                                                             .uuid = "GPU-0a",
                                                             .name = "NVIDIA GeForce GTX 1080",
                                                             .memory_bytes = 8589934592,
                                                             .pci_bus_id = "00000000:0A:00.0"},
                                            protocol::Device{.index = 1,
                                                             .kind = protocol::DeviceKind::kGpu,
                                                             .uuid = "GPU-41",
                                                             .name = "NVIDIA GeForce RTX 3090",
                                                             .memory_bytes = 25769803776,
                                                             .pci_bus_id = "00000000:41:00.0"}));
  EXPECT_EQ(probe->DriverVersion(), "550.54.14");
}

TEST_F(NvmlProbeTest, ReadsUsageAndBothKindsOfProcesses) {
  Say(kTwoGpus);
  EXPECT_THAT(
      Open()->Usage(),
      ElementsAre(
          DeviceUsage{.index = 0, .utilisation_percent = 0, .memory_used_bytes = 1048576},
          DeviceUsage{
              .index = 1,
              .utilisation_percent = 97,
              .memory_used_bytes = 2147483648,
              .processes = {
                  {.pid = 101, .graphics = false, .memory_bytes = 2000000000, .command = "python"},
                  {.pid = 102, .graphics = true, .memory_bytes = 0, .command = "game.exe"}}}));
}

TEST_F(NvmlProbeTest, SeesChangesAtTheNextReading) {
  Say(kTwoGpus);
  auto probe = Open();
  ASSERT_THAT(probe->Usage().at(0).processes, IsEmpty());
  Say(absl::StrCat(kTwoGpus, "graphics 4000000 5\n"));
  EXPECT_THAT(probe->Usage().at(0).processes,
              ElementsAre(DeviceProcess{.pid = 4000000, .graphics = true, .memory_bytes = 5}));
}

TEST_F(NvmlProbeTest, ShowsAProcessThatComputesAndDrawsOnce) {
  Say("device\npci 0:1:0\nuuid GPU-1\ncompute 101 7\ngraphics 101 -\n");
  EXPECT_THAT(Open()->Usage().at(0).processes,
              ElementsAre(DeviceProcess{
                  .pid = 101, .graphics = true, .memory_bytes = 7, .command = "python"}));
}

TEST_F(NvmlProbeTest, ReadsMoreProcessesThanItFirstHasRoomFor) {
  std::string state = "device\npci 0:1:0\nuuid GPU-1\n";
  for (int pid = 1000001; pid <= 1000100; ++pid) absl::StrAppend(&state, "compute ", pid, " 1\n");
  Say(state);
  EXPECT_THAT(Open()->Usage().at(0).processes, SizeIs(100));
}

TEST_F(NvmlProbeTest, DoesNotTakeNotSupportedForZero) {
  Say("device\npci 0:1:0\nuuid GPU-1\n");
  auto probe = Open();
  EXPECT_THAT(probe->Devices(), ElementsAre(AllOf(Field(&protocol::Device::name, "NVIDIA GPU"),
                                                  Field(&protocol::Device::memory_bytes, 0))));
  EXPECT_EQ(probe->Usage().at(0).utilisation_percent, std::nullopt);
}

TEST_F(NvmlProbeTest, LeavesOutALostGpuAndKeepsTheOthers) {
  Say(absl::StrCat("device\npci 00000000:01:00.0\nuuid GPU-1\nerror uuid 15\n", kTwoGpus,
                   "device\nerror handle 15\n"));
  EXPECT_THAT(
      Open()->Devices(),
      ElementsAre(
          AllOf(Field(&protocol::Device::index, 0), Field(&protocol::Device::uuid, "GPU-0a")),
          AllOf(Field(&protocol::Device::index, 1), Field(&protocol::Device::uuid, "GPU-41"))));
}

TEST_F(NvmlProbeTest, HidesNoGpuBehindOneThatFailsLater) {
  Say(kTwoGpus);
  auto probe = Open();
  Say(absl::StrCat(kTwoGpus, "error utilization 15\nerror memory 15\nerror compute 15\n"));
  EXPECT_THAT(probe->Usage(),
              ElementsAre(DeviceUsage{.index = 0}, Field(&DeviceUsage::utilisation_percent, 97)));
  EXPECT_THAT(probe->Devices(), SizeIs(2));
}

TEST_F(NvmlProbeTest, HidesNoGpuBehindOneThatHangs) {
  Say(kTwoGpus);
  auto opened = NvmlProbe::Open({.library = HPC_FAKE_NVML, .usage_limit = absl::Seconds(2)});
  ASSERT_OK(opened);
  NvmlProbe& probe = **opened;
  Say(absl::StrCat(kTwoGpus, "hang memory\n"));
  EXPECT_THAT(probe.Usage(),
              ElementsAre(DeviceUsage{.index = 0}, Field(&DeviceUsage::utilisation_percent, 97)));
  const absl::Time start = absl::Now();
  EXPECT_THAT(probe.Usage(), SizeIs(2));
  EXPECT_LT(absl::Now() - start, absl::Seconds(1)) << "waited again for a GPU that hangs";

  Say(kTwoGpus);
  std::optional<int32_t> seen;
  for (int i = 0; i < 10000 && seen != 0; ++i) seen = probe.Usage().at(0).utilisation_percent;
  EXPECT_EQ(seen, 0) << "the GPU that hung was not read again";
}

TEST_F(NvmlProbeTest, SaysThatTheDriverHangsAtTheStart) {
  Say(absl::StrCat(kTwoGpus, "hang uuid\n"));
  EXPECT_THAT(NvmlProbe::Open({.library = HPC_FAKE_NVML, .start_limit = absl::Milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("20 ms")));
  Say(kTwoGpus);
}

TEST_F(NvmlProbeTest, PassesOnWhyNvmlCannotStart) {
  Say("init_error 9\n");
  EXPECT_THAT(NvmlProbe::Open({.library = HPC_FAKE_NVML}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "nvmlInit: Driver Not Loaded"))
      << "the library may be installed on a PC without a GPU";
  Say("init_error 18\n");
  EXPECT_THAT(NvmlProbe::Open({.library = HPC_FAKE_NVML}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nvmlInit: ")));
  EXPECT_THAT(MakeDeviceProbe(1)->GpuTrouble(), HasSubstr("nvmlInit: "));
  Say(kTwoGpus);
}

TEST_F(NvmlProbeTest, NamesALibraryThatIsMissingOrIsNotNvml) {
  EXPECT_THAT(NvmlProbe::Open({.library = "/no/such/libnvidia-ml.so.1"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/libnvidia-ml.so.1")));
  EXPECT_THAT(NvmlProbe::Open({.library = "libc.so.6"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("libc.so.6 has no")));
}

TEST_F(NvmlProbeTest, ChoosesGpusWhereThereAreSome) {
  Say(kTwoGpus);
  EXPECT_THAT(MakeDeviceProbe(4)->Devices(), ElementsAre(Field(&protocol::Device::uuid, "GPU-0a"),
                                                         Field(&protocol::Device::uuid, "GPU-41")));
}

TEST_F(NvmlProbeTest, ChoosesCpuSlotsWhereThereAreNone) {
  for (const char* state : {"driver 550.54.14\n", "init_error 9\n"}) {
    Say(state);
    EXPECT_THAT(MakeDeviceProbe(1)->Devices(),
                ElementsAre(Field(&protocol::Device::kind, protocol::DeviceKind::kCpuSlot)));
  }
}

// nvidia-ml-py knows NVML's real layouts. If the fake agreed only with our own declarations, it
// would be misread here.
TEST_F(NvmlProbeTest, AgreesWithNvidiaMlPy) {
  const char* python = getenv("HPC_TEST_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "HPC_TEST_PYTHON names no interpreter with nvidia-ml-py";
  Say(kTwoGpus);
  auto result =
      RunCommand({.program = python,
                  .argv = {python, HPC_NVML_READER},
                  .env = {"LD_LIBRARY_PATH=" HPC_FAKE_NVML_DIR, "FAKE_NVML_STATE=" + StatePath()},
                  .limit = absl::Seconds(30)});
  ASSERT_OK(result);
  if (result->LastWords() == "no nvidia-ml-py") {
    GTEST_SKIP() << python << " has no nvidia-ml-py";
  }
  ASSERT_TRUE(result->ok()) << result->output;

  auto probe = Open();
  const std::vector<DeviceUsage> usage = probe->Usage();
  std::string ours = absl::StrCat("driver ", probe->DriverVersion(), "\n");
  for (const protocol::Device& device : probe->Devices()) {
    const DeviceUsage& use = usage.at(device.index);
    absl::StrAppend(&ours, device.pci_bus_id, " ", device.uuid, " ", device.name, " ",
                    device.memory_bytes, " ", use.memory_used_bytes, " ",
                    use.utilisation_percent.value_or(-1), "\n");
    for (const DeviceProcess& process : use.processes) {
      absl::StrAppend(&ours, process.graphics ? "G " : "C ", process.pid, " ", process.memory_bytes,
                      "\n");
    }
  }
  EXPECT_EQ(ours, result->output);
}

}  // namespace
}  // namespace hpc::worker
