#include "worker/os/python/python_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/os/run_command.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr absl::Duration kPatient = absl::Minutes(1);

TEST(PythonProbe, SaysNothingOfWhatIsNoInterpreter) {
  auto facts = MakePythonProbe()->Probe("/bin/true", {}, {});
  ASSERT_OK(facts);
  EXPECT_THAT(facts->facts, IsEmpty());
  EXPECT_FALSE(facts->has_torch);
  EXPECT_TRUE(facts->store_client_ok);
}

TEST(PythonProbe, ReadsTheSystemsInterpreter) {
  auto facts = MakePythonProbe(kPatient)->Probe("/usr/bin/python3", OwnEnvironment(), {});
  ASSERT_OK(facts);
  EXPECT_THAT(facts->facts, Contains(Pair("python", StartsWith("3."))));
}

TEST(PythonProbe, ReadsARealTorch) {
  const char* python = getenv("HPC_TEST_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "HPC_TEST_PYTHON names no interpreter with torch";
  auto facts = MakePythonProbe(kPatient)->Probe(python, OwnEnvironment(), {});
  ASSERT_OK(facts);
  auto import = RunCommand({.program = python,
                            .argv = {python, "-c", "import torch; print(torch.__version__)"},
                            .env = OwnEnvironment(),
                            .limit = kPatient});
  ASSERT_OK(import);
  EXPECT_THAT(facts->facts, Contains(Pair("torch", import->LastWords())));
  EXPECT_THAT(facts->facts, Contains(Pair("numpy", Not(IsEmpty()))));
  EXPECT_TRUE(facts->has_torch);
  EXPECT_TRUE(facts->store_client_ok) << "PyPI's wheels are built with libuv";
}

// A fake torch of a few files, which the system's interpreter finds on its PYTHONPATH.
class FakeTorchTest : public ::testing::Test {
 protected:
  void SetUp() override { MakeSite("site-packages"); }

  void MakeSite(const std::string& name) {
    site_ = ::testing::TempDir() + "/fake_torch/" + name;
    std::filesystem::remove_all(site_);
    std::filesystem::create_directories(site_ + "/torch/lib");
    Write("torch/__init__.py", "raise RuntimeError('nobody may import this')\n");
  }

  void Write(const std::string& name, const std::string& content) {
    ASSERT_OK(WriteFileAtomically(site_ + "/" + name, content));
  }

  void WriteVersion(const std::string& version) {
    Write("torch/version.py",
          "from typing import Optional\n__version__ = '" + version +
              "'\ndebug = False\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n");
  }

  PythonFacts Probe() { return Probe(*MakePythonProbe(kPatient)); }
  PythonFacts Probe(PythonProbe& probe) {
    auto facts = probe.Probe("/usr/bin/python3", {"PYTHONPATH=" + site_, "PATH=/usr/bin"}, {});
    EXPECT_OK(facts);
    return *std::move(facts);
  }

  std::string site_;
};

TEST_F(FakeTorchTest, IsReadWithoutImportingIt) {
  WriteVersion("2.3.1+cu128");
  std::filesystem::create_directories(site_ + "/nvidia_nccl_cu12-2.27.5.dist-info");
  PythonFacts facts = Probe();
  EXPECT_TRUE(facts.has_torch);
  EXPECT_THAT(facts.facts,
              AllOf(Contains(Pair("torch", "2.3.1+cu128")), Contains(Pair("cuda", "12.8")),
                    Contains(Pair("nccl", "2.27.5")), Not(Contains(Pair("rocm", ::testing::_)))));
}

TEST_F(FakeTorchTest, BeforeLibuvIsAClientOfAnyStore) {
  WriteVersion("2.3.1");
  EXPECT_TRUE(Probe().store_client_ok);
}

TEST_F(FakeTorchTest, BuiltWithoutLibuvIsNoClient) {
  WriteVersion("2.6.0+debian");
  // Any ELF file will do that does not contain the name of the back-end's class.
  std::filesystem::copy("/bin/true", site_ + "/torch/lib/libtorch_cpu.so");
  EXPECT_FALSE(Probe().store_client_ok);
}

TEST_F(FakeTorchTest, WhoseLibraryIsNotFoundIsTakenForNoClient) {
  WriteVersion("2.10.0");
  EXPECT_FALSE(Probe().store_client_ok);
}

TEST_F(FakeTorchTest, IsAskedOnceUntilItChanges) {
  MakeSite("not-a-site-folder");  // so that only torch itself is watched
  WriteVersion("2.3.0");
  auto probe = MakePythonProbe(kPatient);
  EXPECT_THAT(Probe(*probe).facts, Contains(Pair("torch", "2.3.0")));

  // Only a second run of the interpreter would find this.
  std::filesystem::create_directories(site_ + "/nvidia_nccl_cu12-2.1.dist-info");
  EXPECT_THAT(Probe(*probe).facts, Not(Contains(Pair("nccl", "2.1"))));

  WriteVersion("2.3.10");
  EXPECT_THAT(Probe(*probe).facts,
              AllOf(Contains(Pair("torch", "2.3.10")), Contains(Pair("nccl", "2.1"))));
}

TEST_F(FakeTorchTest, IsNoticedWhenInstalledLater) {
  std::filesystem::remove_all(site_ + "/torch");
  auto probe = MakePythonProbe(kPatient);
  EXPECT_FALSE(Probe(*probe).has_torch);
  std::filesystem::create_directories(site_ + "/torch");
  Write("torch/__init__.py", "");
  WriteVersion("2.3.0");
  EXPECT_TRUE(Probe(*probe).has_torch);
}

class BrokenInterpreterTest : public ::testing::Test {
 protected:
  static std::string Interpreter(const std::string& script) {
    const std::string dir = ::testing::TempDir() + "/broken";
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/python3") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(dir + "/python3", std::filesystem::perms::owner_all);
    return dir + "/python3";
  }
};

TEST_F(BrokenInterpreterTest, IsNamedWithItsLastWords) {
  EXPECT_THAT(
      MakePythonProbe()->Probe(Interpreter("echo 'No module named encodings'; exit 1"), {}, {}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("/broken/python3"), HasSubstr("exit code 1"),
                     HasSubstr("No module named encodings"))));
}

TEST_F(BrokenInterpreterTest, ThatHangsIsGivenUp) {
  EXPECT_THAT(MakePythonProbe(absl::Milliseconds(20))
                  ->Probe(Interpreter("exec sleep 60"), {"PATH=/bin"}, {}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("/broken/python3")));
}

TEST_F(BrokenInterpreterTest, IsAskedAgainNextTime) {
  auto probe = MakePythonProbe();
  EXPECT_THAT(probe->Probe(Interpreter("exit 1"), {}, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  auto facts = probe->Probe(Interpreter("printf 'hpc-worker\\tfact\\tpython\\t9\\n'"), {}, {});
  ASSERT_OK(facts);
  EXPECT_THAT(facts->facts, ElementsAre(Pair("python", "9")));
}

}  // namespace
}  // namespace hpc::worker
