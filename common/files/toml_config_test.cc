#include "common/files/toml_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "common/files/files.h"
#include "common/status_matchers.h"

namespace hpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TomlConfigTest : public ::testing::Test {
 protected:
  TomlConfigTest() : app_("test") {
    char pattern[] = "/tmp/hpc-toml-XXXXXX";
    dir_ = mkdtemp(pattern);
    app_.add_option("--name", name_)->envname("HPC_TOML_TEST_NAME");
    app_.add_option("--port", port_);
    app_.add_option("--peers", peers_);
    app_.add_flag("--insecure", insecure_);
    AddTomlConfig(&app_);
  }
  ~TomlConfigTest() override {
    unsetenv("HPC_TOML_TEST_NAME");
    EXPECT_OK(RemoveTree(dir_));
  }
  // Returns the error's text, or "".
  std::string Parse(const std::string& toml, std::vector<std::string> arguments = {}) {
    const std::string file = dir_ + "/config.toml";
    std::ofstream(file) << toml;
    arguments.insert(arguments.begin(), {"--config", file});
    std::reverse(arguments.begin(), arguments.end());
    try {
      app_.parse(arguments);
    } catch (const CLI::Error& error) {
      return error.what();
    }
    return "";
  }

  std::string dir_;
  CLI::App app_;
  std::string name_;
  int port_ = 0;
  std::vector<std::string> peers_;
  bool insecure_ = false;
};

TEST_F(TomlConfigTest, TakesEveryKindOfValue) {
  EXPECT_EQ(Parse("name = \"pc1\"\nport = 7077\npeers = [\"a\", \"b\"]\ninsecure = true\n"), "");
  EXPECT_EQ(name_, "pc1");
  EXPECT_EQ(port_, 7077);
  EXPECT_THAT(peers_, ElementsAre("a", "b"));
  EXPECT_TRUE(insecure_);
}

TEST_F(TomlConfigTest, TheCommandLineWinsOverTheFile) {
  EXPECT_EQ(Parse("name = \"file\"\n", {"--name", "flag"}), "");
  EXPECT_EQ(name_, "flag");
}

TEST_F(TomlConfigTest, TheEnvironmentWinsOverTheFile) {
  setenv("HPC_TOML_TEST_NAME", "environment", 1);
  EXPECT_EQ(Parse("name = \"file\"\n"), "");
  EXPECT_EQ(name_, "environment");
}

TEST_F(TomlConfigTest, ATableNamedAsAnOptionGivesItPairs) {
  EXPECT_EQ(Parse("[peers]\na = \"one\"\n\"*\" = 2\n"), "");
  EXPECT_THAT(peers_, ElementsAre("*=2", "a=one"));
  EXPECT_THAT(Parse("[peers]\na = [\"one\"]\n"), HasSubstr("peers.a"));
}

TEST_F(TomlConfigTest, NamesAKeyThatIsNoOption) {
  EXPECT_EQ(Parse("\nnmae = \"pc1\"\n"), dir_ + "/config.toml, line 2: there is no option 'nmae'");
  EXPECT_THAT(Parse("[ = 1\n"), HasSubstr(dir_ + "/config.toml: this is not TOML"));
  EXPECT_EQ(Parse("\n\n[pots]\nport = 1\n"),
            dir_ + "/config.toml, line 3: there is no option 'pots'");
}

TEST_F(TomlConfigTest, NamesTheLineThatIsNotToml) {
  EXPECT_THAT(Parse("name = \"pc1\"\nport = = 1\n"),
              HasSubstr(dir_ + "/config.toml, line 2: this is not TOML: "));
}

TEST_F(TomlConfigTest, DoesNotWaitForAPipe) {
  const std::string pipe = dir_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, dir_}) {
    try {
      app_.parse(std::vector<std::string>{path, "--config"});
      FAIL() << path << " was accepted";
    } catch (const CLI::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path + " is not a regular file"));
    }
  }
}

TEST_F(TomlConfigTest, NamesAFileThatIsMissing) {
  try {
    app_.parse(std::vector<std::string>{"/nowhere/x.toml", "--config"});
    FAIL() << "a missing file was accepted";
  } catch (const CLI::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/x.toml"));
  }
}

}  // namespace
}  // namespace hpc
