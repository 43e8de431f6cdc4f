#include "common/secret_name.h"

#include <gtest/gtest.h>

namespace hpc {
namespace {

TEST(LooksSecretTest, NamesOfSecretsAreKnown) {
  for (const char* name :
       {"HF_TOKEN", "WANDB_API_KEY", "DB_PASSWORD", "PGPASSWORD", "MY_SECRET", "TOKEN", "key",
        "aws_secret_access_key", "GITHUB_TOKEN_FILE", "OPENAI_APIKEY", "API_KEYS", "API_KEY2",
        "GOOGLE_APPLICATION_CREDENTIALS", "MYSQL_PASSWD", "ssh.passphrase"}) {
    EXPECT_TRUE(LooksSecret(name)) << name;
  }
}

TEST(LooksSecretTest, OthersAreLeftAlone) {
  for (const char* name : {"", "PATH", "HOME", "TOKENIZERS_PARALLELISM", "KEYBOARD", "LR",
                           "WANDB_MODE", "SECRETARY", "PYTHONHASHSEED", "S", "_"}) {
    EXPECT_FALSE(LooksSecret(name)) << name;
  }
}

}  // namespace
}  // namespace hpc
