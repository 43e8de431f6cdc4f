// Options of a command line: "--name value", "--name=value", and "--name" alone for a switch.
#ifndef HPC_TRAIN_TOOL_OPTION_TABLE_H_
#define HPC_TRAIN_TOOL_OPTION_TABLE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace hpc::train {

// One line: what was wrong, and what may be said instead.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

class OptionTable {
 public:
  enum class Compared {
    kYes,  // all ranks must have the same
    kNo,   // each rank may have its own, since it does not change what is computed
  };

  // Each of these declares an option. It is stored in `to`, which holds the default now and must
  // outlive this table.
  void Whole(const std::string& name, int64_t* to, int64_t least, const std::string& help,
             Compared compared = Compared::kYes, int64_t most = 1'000'000'000);
  void Real(const std::string& name, double* to, double least, const std::string& help);
  void Text(const std::string& name, std::string* to, const std::string& help,
            Compared compared = Compared::kYes);
  void Choice(const std::string& name, std::string* to, std::vector<std::string> choices,
              const std::string& help, Compared compared = Compared::kYes);
  void Switch(const std::string& name, bool* to, const std::string& help);
  // Takes "1,1,2.5".
  void Reals(const std::string& name, std::vector<double>* to, const std::string& help);

  bool Has(const std::string& name) const;
  std::string Shown(const std::string& name) const { return Find(name).show(); }  // its value
  bool IsSwitch(const std::string& name) const;  // for an option that the table has

  // Throws UsageError.
  void Parse(const std::vector<std::string>& arguments);
  // Returns whether Parse has met the option. If not, it has its default.
  bool Said(const std::string& name) const { return said_.count(name) != 0; }

  // Returns a line for each option: "  --lr X   step size (0.001)", without the values of `hidden`
  // and the lines of `left_out`.
  std::string Help(const std::set<std::string>& hidden = {},
                   const std::set<std::string>& left_out = {}) const;
  // Returns a line for each option that all ranks must have alike: "option lr=0.001".
  std::vector<std::string> Lines() const;

 private:
  struct Option {
    std::string name, argument, help;  // an empty argument means a switch
    std::function<void(const std::string&)> set;
    std::function<std::string()> show;
    Compared compared;
  };
  const Option& Find(const std::string& name) const;

  std::vector<Option> options_;
  std::set<std::string> said_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_TOOL_OPTION_TABLE_H_
