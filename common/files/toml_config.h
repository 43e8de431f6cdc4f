// Lets a CLI11 program take its options from a TOML file. Keys are the long option names without
// dashes. A table is a sub-command or, where an option has the table's name, a list of "key=value"
// values of that option, one for each key. The command line wins over the environment, and the
// environment over the file.
#ifndef HPC_COMMON_FILES_TOML_CONFIG_H_
#define HPC_COMMON_FILES_TOML_CONFIG_H_

#include <CLI/CLI.hpp>

namespace hpc {

// Adds `--config FILE` to `app`. A file that is not TOML, or has a key that is no option, is an
// error that names file, line and key.
void AddTomlConfig(CLI::App* app);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_TOML_CONFIG_H_
