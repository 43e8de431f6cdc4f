// libFuzzer: feeds arbitrary bytes as a configuration file. Every item that is read must be one
// that a program can merge with its options, so it has a name. The only exceptions that may be
// thrown are those of CLI11.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "common/files/toml_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // toml++ 3.3 declares some points of its character tables unreachable, and reaches them. The
  // effect is only that a letter is refused, but the sanitizer ends the program.
  if (std::any_of(data, data + size, [](uint8_t byte) { return byte >= 0x80; })) return 0;
  CLI::App app("fuzz");
  std::string name;
  std::vector<std::string> accounts;
  bool insecure = false;
  app.add_option("--name", name);
  app.add_option("--accounts", accounts);
  app.add_flag("--insecure", insecure);
  app.add_subcommand("join")->add_option("--name", name);
  hpc::AddTomlConfig(&app);
  std::istringstream file(std::string(reinterpret_cast<const char*>(data), size));
  try {
    for (const CLI::ConfigItem& item : app.get_config_formatter()->from_config(file)) {
      if (item.name.empty() && item.inputs.empty()) abort();
    }
  } catch (const CLI::Error& error) {
    if (std::string(error.what()).empty()) abort();
  }
  return 0;
}
