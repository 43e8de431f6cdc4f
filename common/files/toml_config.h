// Lets a CLI11 program take its options from a TOML file: keys are the long option names without
// dashes, tables are sub-commands, or, where an option has the table's name, one "key=value" of
// that option for each key. Command line wins over environment over file.
#ifndef HPC_COMMON_FILES_TOML_CONFIG_H_
#define HPC_COMMON_FILES_TOML_CONFIG_H_

#include <CLI/CLI.hpp>

namespace hpc {

// Adds `--config FILE` to `app`. A file that is not TOML, or has a key that is no option, is an
// error that names file, line and key.
void AddTomlConfig(CLI::App* app);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_TOML_CONFIG_H_
