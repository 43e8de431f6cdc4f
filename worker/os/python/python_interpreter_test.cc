#include "worker/os/python/python_interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hpc::worker {
namespace {

TEST(IsPythonName, TakesEveryVersionOfCPython) {
  for (const char* name : {"python", "python3", "python3.11", "python2.7", "python3.13t"}) {
    EXPECT_TRUE(IsPythonName(name)) << name;
  }
}

TEST(IsPythonName, TakesNothingElse) {
  for (const char* name :
       {"", "pypy3", "python3-config", "pythonw", "ipython", "torchrun", "Python"}) {
    EXPECT_FALSE(IsPythonName(name)) << name;
  }
}

TEST(ShebangInterpreter, IsThePathAfterTheMark) {
  EXPECT_EQ(ShebangInterpreter("#!/venv/bin/python3\nimport sys\n"), "/venv/bin/python3");
  EXPECT_EQ(ShebangInterpreter("#! /usr/bin/python3 -u\r\n"), "/usr/bin/python3");
  EXPECT_EQ(ShebangInterpreter("#!/bin/sh\necho hello\n"), "/bin/sh");
}

TEST(ShebangInterpreter, LooksThroughEnv) {
  EXPECT_EQ(ShebangInterpreter("#!/usr/bin/env python3\n"), "python3");
  EXPECT_EQ(ShebangInterpreter("#!/usr/bin/env -S OMP_NUM_THREADS=1 python3 -u\n"), "python3");
  EXPECT_EQ(ShebangInterpreter("#!/usr/bin/env\n"), "");
}

TEST(ShebangInterpreter, LooksThroughPipsShellForm) {
  EXPECT_EQ(ShebangInterpreter("#!/bin/sh\n'''exec' /long/bin/python3.11 \"$0\" \"$@\"\n' '''\n"),
            "/long/bin/python3.11");
  EXPECT_EQ(ShebangInterpreter("#!/bin/sh\n'''exec' \"/a b/bin/python\" \"$0\" \"$@\"\n' '''\n"),
            "/a b/bin/python");
}

TEST(ShebangInterpreter, IsEmptyWithoutOne) {
  EXPECT_EQ(ShebangInterpreter(""), "");
  EXPECT_EQ(ShebangInterpreter("#!\n"), "");
  EXPECT_EQ(ShebangInterpreter("\x7f"
                               "ELF#!/usr/bin/python3"),
            "");
}

class FindPythonInterpreterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "/interpreters";
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }

  std::string Executable(const std::string& name, const std::string& content) {
    const std::string path = dir_ + "/" + name;
    std::ofstream(path) << content;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  std::string Link(const std::string& name, const std::string& target) {
    std::filesystem::create_symlink(target, dir_ + "/" + name);
    return dir_ + "/" + name;
  }

  std::string Find(const std::string& program) {
    return FindPythonInterpreter(program, {"HOME=/", "PATH=/nonexistent:" + dir_});
  }

  std::string dir_;
};

TEST_F(FindPythonInterpreterTest, KeepsThePathOfTheLinkOfAVirtualEnvironment) {
  Executable("python3.11", "");
  const std::string link = Link("python", "python3.11");
  EXPECT_EQ(Find(link), link);
}

TEST_F(FindPythonInterpreterTest, KnowsALinkOfAnotherName) {
  Executable("python3.11", "");
  const std::string link = Link("trainer", "python3.11");
  EXPECT_EQ(Find(link), link);
}

TEST_F(FindPythonInterpreterTest, RefusesPypyUnderPythonsName) {
  Executable("pypy3.10", "");
  EXPECT_EQ(Find(Link("python", "pypy3.10")), "");
}

TEST_F(FindPythonInterpreterTest, FollowsTheFirstLineOfAScript) {
  const std::string python = Executable("python3", "");
  EXPECT_EQ(Find(Executable("torchrun", "#!" + python + "\nimport sys\n")), python);
  EXPECT_EQ(Find(Executable("train.py", "#!/usr/bin/env python3\n")), python);
}

TEST_F(FindPythonInterpreterTest, IsEmptyForEverythingElse) {
  EXPECT_EQ(Find("/bin/true"), "");
  EXPECT_EQ(Find("/nonexistent"), "");
  EXPECT_EQ(Find(dir_), "");
  EXPECT_EQ(Find(Executable("run.sh", "#!/bin/sh\npython3 train.py\n")), "");
  EXPECT_EQ(Find(Executable("lost.py", "#!/usr/bin/env python9\n")), "");
}

}  // namespace
}  // namespace hpc::worker
