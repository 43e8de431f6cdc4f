// The options and arguments of one command: declared once, then parsed, checked and shown as help.
// Pure.
//
// The daemons use CLI11, but this is written here, for three reasons. CLI11's errors are finished
// text without the parts that a good message needs (what was typed, what is allowed, what was
// near). It takes "[a,b]" apart even where that is a program's own argument. And its header would
// be compiled once for every command.
#ifndef HPC_CLIENT_CLI_INPUT_OPTIONS_H_
#define HPC_CLIENT_CLI_INPUT_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hpc::client {

// Each reads a value of an option. A usage error names the option and what it takes.
absl::StatusOr<int64_t> ReadInteger(absl::string_view option, absl::string_view value, int64_t min,
                                    int64_t max);
absl::StatusOr<absl::Duration> ReadDuration(absl::string_view option, absl::string_view value);
// Returns the place of the value among the choices.
absl::StatusOr<size_t> ReadChoice(absl::string_view option, absl::string_view value,
                                  const std::vector<std::string>& choices);

class Options {
 public:
  // `command` is written as in messages and help: "run".
  Options(absl::string_view command, absl::string_view summary)
      : command_(command), summary_(summary) {}

  // A Setter stores the text of a value, or says (without the option's name) what is wrong with it.
  using Setter = std::function<absl::Status(absl::string_view option, absl::string_view value)>;

  // In all of these, `names` is "-N,--nodes" or "--nodes". If an option is given twice, the last
  // value counts, except for lists, which grow. Text must be valid UTF-8, except for Texts, where
  // the caller can say better what is wrong. A target keeps its value when the option is not given.
  void Flag(absl::string_view names, bool* target, absl::string_view help);
  // Declares a text that must not be empty.
  void Word(absl::string_view names, absl::string_view metavar, std::string* target,
            absl::string_view help);
  void Text(absl::string_view names, absl::string_view metavar, std::string* target,
            absl::string_view help);
  void Texts(absl::string_view names, absl::string_view metavar, std::vector<std::string>* target,
             absl::string_view help);
  // Declares a list, "a,b", which is split at commas.
  void List(absl::string_view names, absl::string_view metavar, std::vector<std::string>* target,
            absl::string_view help);
  // T is an integer type or a std::optional of one.
  template <typename T>
  void Integer(absl::string_view names, absl::string_view metavar, T* target, int64_t min,
               int64_t max, absl::string_view help) {
    AddInteger(
        names, metavar, [target](int64_t value) { *target = NumberOf<T>(value); }, min, max, help);
  }
  // T is absl::Duration or a std::optional of it.
  template <typename T>
  void Duration(absl::string_view names, absl::string_view metavar, T* target,
                absl::string_view help) {
    AddDuration(
        names, metavar, [target](absl::Duration value) { *target = value; }, help);
  }
  void Choice(absl::string_view names, std::string* target, std::vector<std::string> choices,
              absl::string_view help);
  // Declares an option of another kind. `set` gets "" for a value that is not given.
  enum class Takes { kNothing, kValue, kMaybeValue };
  void Add(absl::string_view names, absl::string_view metavar, Takes takes, absl::string_view help,
           Setter set);

  // Declares a word that is not an option. Required ones come before optional ones.
  void Argument(absl::string_view metavar, std::string* target, absl::string_view help,
                bool required = true);
  // Declares an argument that names a run, as FindRun reads it.
  void RunArgument(std::string* target);
  // Declares one or more of them, as the last argument.
  void RunArguments(std::vector<std::string>* target, bool required = true);
  // Takes everything after "--", untouched.
  void Program(std::vector<std::string>* target);

  // Options declared from here on are shown under this title.
  void Group(absl::string_view title) { group_ = std::string(title); }
  // Adds a paragraph to the help, below the summary.
  void Details(absl::string_view text) { details_ = std::string(text); }
  // Adds a whole command line, which help and messages show.
  void Example(absl::string_view line) { examples_.emplace_back(line); }

  // Returns usage errors only. `--help` and `-h` end parsing: help_wanted() is then true.
  absl::Status Parse(const std::vector<std::string>& words);
  bool help_wanted() const { return help_wanted_; }

  std::string Help() const;
  // Returns the long names of all options, for suggestions and completion.
  std::vector<std::string> LongNames() const;

 private:
  struct Option {
    std::vector<std::string> names;
    std::string metavar, help, group;
    Takes takes;
    Setter set;
  };
  struct Positional {
    std::string metavar, help;
    bool required;
    Setter set;
    bool repeats = false;
  };

  template <typename T>
  struct ValueType {
    using type = T;
  };
  template <typename T>
  struct ValueType<std::optional<T>> {
    using type = T;
  };
  template <typename T>
  static T NumberOf(int64_t value) {
    return static_cast<typename ValueType<T>::type>(value);
  }

  void AddInteger(absl::string_view names, absl::string_view metavar,
                  std::function<void(int64_t)> store, int64_t min, int64_t max,
                  absl::string_view help);
  void AddDuration(absl::string_view names, absl::string_view metavar,
                   std::function<void(absl::Duration)> store, absl::string_view help);
  const Option* Find(absl::string_view name) const;
  absl::Status ParseLong(const std::vector<std::string>& words, size_t* at);
  absl::Status ParseShort(const std::vector<std::string>& words, size_t* at);
  absl::Status Apply(const Option& option, absl::string_view name,
                     std::optional<absl::string_view> attached,
                     const std::vector<std::string>& words, size_t* at);
  absl::Status ParsePositional(const std::string& word);
  absl::Status CheckComplete() const;
  std::string UsageLine() const;

  std::string command_, summary_, details_, group_ = "Options";
  std::vector<Option> options_;
  std::vector<Positional> positionals_;
  std::vector<std::string>* program_ = nullptr;
  std::vector<std::string> examples_;
  size_t positionals_given_ = 0;
  bool help_wanted_ = false;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_OPTIONS_H_
