#include "common/files/toml_config.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hpc {
namespace {

struct Unexpected {
  const char* expectation;
};

[[noreturn]] void Expected(const char* expectation) { throw Unexpected{expectation}; }

}  // namespace
}  // namespace hpc

// toml++ 3.3 only asserts that some errors in a file cannot happen, as in "[ = ". Without its
// assertions it would simply go on.
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? void() : hpc::Expected(#expr))
#include <toml++/toml.h>

namespace hpc {
namespace {

// CLI11 asks a Config to turn a stream into found; it does the merging with flags and environment.
class TomlConfig : public CLI::Config {
 public:
  explicit TomlConfig(const CLI::App* app) : app_(app) {}

  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return ""; }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> found;
    try {
      const toml::table table = toml::parse(input);
      Flatten(table, {}, &found);
    } catch (const toml::parse_error& error) {
      throw CLI::FileError(absl::StrCat(Where(error.source()),
                                        ": this is not TOML: ", std::string(error.description())));
    } catch (const Unexpected& error) {
      throw CLI::FileError(absl::StrCat(File(), ": this is not TOML (", error.expectation, ")"));
    }
    return found;
  }

 private:
  std::string File() const { return app_->get_config_ptr()->as<std::string>(); }
  // Returns a place in a file, as in "/etc/hpc.toml, line 3".
  std::string Where(const toml::source_region& source) const {
    return absl::StrCat(File(), ", line ", source.begin.line);
  }

  std::string Text(const toml::node& node, const std::string& key) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return absl::StrCat(number->get());
    if (const auto* number = node.as_floating_point()) return absl::StrCat(number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    throw CLI::FileError(absl::StrCat(Where(node.source()), ": the key '", key,
                                      "' must be text, a number, true or false"));
  }

  const CLI::Option* OptionOf(const std::string& name) const {
    return app_->get_option_no_throw("--" + name);
  }

  bool IsSubcommand(const std::string& name) const {
    return !app_->get_subcommands([&](const CLI::App* one) { return one->get_name() == name; })
                .empty();
  }

  CLI::ConfigItem Pairs(const std::string& name, const toml::table& table) const {
    CLI::ConfigItem item;
    item.name = name;
    for (const auto& [key, value] : table) {
      const std::string path = absl::StrCat(name, ".", std::string(key.str()));
      item.inputs.push_back(absl::StrCat(std::string(key.str()), "=", Text(value, path)));
    }
    return item;
  }

  // CLI11 lets the file win over the environment; people expect the reverse.
  bool SetByEnvironment(const std::string& name) const {
    const CLI::Option* option = OptionOf(name);
    return option != nullptr && !option->get_envname().empty() &&
           getenv(option->get_envname().c_str()) != nullptr;
  }

  void Flatten(const toml::table& table, const std::vector<std::string>& parents,
               std::vector<CLI::ConfigItem>* found) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const toml::table* inner = node.as_table();
      if (inner != nullptr && parents.empty() && OptionOf(name) != nullptr) {
        if (!SetByEnvironment(name)) found->push_back(Pairs(name, *inner));
        continue;
      }
      // CLI11 names neither the file nor the line.
      const bool known = inner == nullptr ? OptionOf(name) != nullptr : IsSubcommand(name);
      if (parents.empty() && !known) {
        throw CLI::FileError(
            absl::StrCat(Where(node.source()), ": there is no option '", name, "'"));
      }
      if (inner != nullptr) {
        std::vector<std::string> path = parents;
        path.push_back(name);
        Flatten(*inner, path, found);
        continue;
      }
      CLI::ConfigItem item;
      item.parents = parents;
      item.name = name;
      if (parents.empty() && SetByEnvironment(name)) continue;
      if (const toml::array* array = node.as_array()) {
        for (const toml::node& element : *array) item.inputs.push_back(Text(element, name));
      } else {
        item.inputs.push_back(Text(node, name));
      }
      found->push_back(std::move(item));
    }
  }

  const CLI::App* app_;
};

// A missing file is reported by the code that opens it. Anything else that is not a regular file is
// refused here, since reading it might block for ever.
std::string NotAPipe(const std::string& path) {
  struct stat info;
  const bool fine = stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  return fine ? "" : path + " is not a regular file";
}

}  // namespace

void AddTomlConfig(CLI::App* app) {
  app->set_config("--config", "", "Read options from this TOML file")->check(NotAPipe);
  app->config_formatter(std::make_shared<TomlConfig>(app));
  app->allow_config_extras(CLI::config_extras_mode::error);
}

}  // namespace hpc
