// Tells by its name whether an environment variable holds a secret.
#ifndef HPC_COMMON_SECRET_NAME_H_
#define HPC_COMMON_SECRET_NAME_H_

#include "absl/strings/string_view.h"

namespace hpc {

// The text that is stored and shown in place of a secret.
inline constexpr char kHiddenValue[] = "(hidden)";

// Returns whether one of the words of `name` ends in TOKEN, KEY, PASSWORD, SECRET or one of their
// kin. HF_TOKEN, WANDB_API_KEY, PGPASSWORD and aws_secret_access_key do; TOKENIZERS_PARALLELISM and
// KEYBOARD do not. A variable that is hidden without need (SORT_KEY) still reaches its program.
bool LooksSecret(absl::string_view name);

}  // namespace hpc

#endif  // HPC_COMMON_SECRET_NAME_H_
