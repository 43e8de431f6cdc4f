#include "client/cli/input/options.h"

#include <gtest/gtest.h>

#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A command with an option of each kind.
struct Parsed {
  bool flag = false;
  std::string text, word;
  std::vector<std::string> texts, list, program;
  std::optional<int32_t> number;
  std::optional<absl::Duration> time;
  std::string choice, maybe;
  std::string run;
  std::string help;
  bool help_wanted = false;
};

absl::StatusOr<Parsed> Parse(const std::vector<std::string>& words) {
  Parsed p;
  Options options("try", "try it");
  options.Flag("--flag", &p.flag, "a flag");
  options.Text("-t,--text", "T", &p.text, "a text");
  options.Word("--word", "W", &p.word, "a text that is not empty");
  options.Texts("--add", "X", &p.texts, "texts");
  options.List("--list", "A,B", &p.list, "a list");
  options.Integer("--number", "N", &p.number, -5, 100, "a number");
  options.Duration("--time", "2h", &p.time, "a time");
  options.Choice("--choice", &p.choice, {"red", "green"}, "a colour");
  options.Add("--maybe", "dash|underscore", Options::Takes::kMaybeValue, "a form",
              [&p](absl::string_view, absl::string_view value) {
                p.maybe = value.empty() ? "dash" : std::string(value);
                return absl::OkStatus();
              });
  options.RunArgument(&p.run);
  options.Program(&p.program);
  options.Example("hpcctl try 1 -- true");
  const absl::Status status = options.Parse(words);
  if (!status.ok()) return status;
  p.help_wanted = options.help_wanted();
  p.help = options.Help();
  return p;
}

// Returns the error of a command line that lacks nothing but `words`.
std::string ErrorOf(std::vector<std::string> words) {
  words.insert(words.begin(), "1");
  words.insert(words.end(), {"--", "true"});
  const absl::Status status = Parse(words).status();
  EXPECT_TRUE(IsUsageError(status)) << status;
  return std::string(status.message());
}

TEST(OptionsTest, SeveralRunsMayBeNamed) {
  const auto parse =
      [](const std::vector<std::string>& words) -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> runs;
    bool flag = false;
    Options options("cancel", "end runs");
    options.RunArguments(&runs);
    options.Flag("--flag", &flag, "a flag");
    const absl::Status status = options.Parse(words);
    EXPECT_THAT(options.Help(), HasSubstr("hpcctl cancel RUN... [options]"));
    if (!status.ok()) return status;
    return runs;
  };
  EXPECT_THAT(*parse({"3"}), ElementsAre("3"));
  EXPECT_THAT(*parse({"3", "train", "--flag", "last"}), ElementsAre("3", "train", "last"));
  EXPECT_THAT(parse({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("RUN")));
  EXPECT_THAT(parse({"3", ""}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("RUN")));
}

TEST(OptionsTest, AWordIsNotEmpty) {
  EXPECT_EQ(Parse({"--word", "w", "1", "--", "true"})->word, "w");
  EXPECT_THAT(Parse({"--word", "", "1", "--", "true"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--word")));
  EXPECT_FALSE(Parse({"--word=", "1", "--", "true"}).ok());
}

TEST(OptionsTest, UnderstandsEveryWayToGiveAValue) {
  for (const std::vector<std::string>& given :
       {std::vector<std::string>{"--text", "v"}, {"--text=v"}, {"-t", "v"}, {"-tv"}, {"-t=v"}}) {
    std::vector<std::string> words = given;
    words.insert(words.end(), {"7", "--", "true"});
    const auto parsed = Parse(words);
    ASSERT_OK(parsed);
    EXPECT_EQ(parsed->text, "v");
    EXPECT_EQ(parsed->run, "7");
  }
}

TEST(OptionsTest, StoresEveryKindOfValue) {
  const auto parsed = Parse({"3",     "--flag",   "--add",    "a",   "--add",  "b,c",   "--list",
                             "x,y",   "--list=z", "--number", "-5",  "--time", "1h30m", "--choice",
                             "green", "--maybe",  "--",       "run", "-x",     "[1,2]"});
  ASSERT_OK(parsed);
  EXPECT_TRUE(parsed->flag);
  EXPECT_THAT(parsed->texts, ElementsAre("a", "b,c"));
  EXPECT_THAT(parsed->list, ElementsAre("x", "y", "z"));
  EXPECT_EQ(parsed->number, -5);
  EXPECT_EQ(parsed->time, absl::Minutes(90));
  EXPECT_EQ(parsed->choice, "green");
  EXPECT_EQ(parsed->maybe, "dash");
  EXPECT_THAT(parsed->program, ElementsAre("run", "-x", "[1,2]"));
}

TEST(OptionsTest, TheLastOfAnOptionGivenTwiceCounts) {
  const auto parsed =
      Parse({"1", "--text", "a", "--text", "b", "--maybe=underscore", "--", "true"});
  ASSERT_OK(parsed);
  EXPECT_EQ(parsed->text, "b");
  EXPECT_EQ(parsed->maybe, "underscore");
}

TEST(OptionsTest, WordsBehindTheDashesBelongToTheProgram) {
  const auto parsed = Parse({"1", "--", "sh", "--flag", "--help", "--", "-N"});
  ASSERT_OK(parsed);
  EXPECT_FALSE(parsed->flag);
  EXPECT_FALSE(parsed->help_wanted);
  EXPECT_THAT(parsed->program, ElementsAre("sh", "--flag", "--help", "--", "-N"));
}

TEST(OptionsTest, AMistypedOptionIsNamedWithTheNearest) {
  EXPECT_EQ(ErrorOf({"--txet", "v"}),
            "'hpcctl try' has no option '--txet'. Did you mean '--text'? 'hpcctl try --help' shows "
            "what it takes.");
  EXPECT_THAT(ErrorOf({"--num", "3"}), HasSubstr("Did you mean '--number'?"));
  EXPECT_THAT(ErrorOf({"-z"}), HasSubstr("no option '-z'. 'hpcctl try --help'"));
}

TEST(OptionsTest, AMissingValueIsNamedWithItsForm) {
  EXPECT_EQ(ErrorOf({"--text"}), "--text needs a value, as in '--text T'; none was given.");
  EXPECT_THAT(ErrorOf({"--text", "--flag"}), HasSubstr("--text needs a value"));
}

TEST(OptionsTest, AFlagTakesNoValue) {
  EXPECT_EQ(ErrorOf({"--flag=yes"}), "--flag takes no value; 'yes' was given.");
}

TEST(OptionsTest, BadValuesAreNamedWithWhatIsAllowed) {
  EXPECT_EQ(ErrorOf({"--number", "many"}),
            "--number takes a whole number from -5 to 100, not 'many'.");
  EXPECT_EQ(ErrorOf({"--number", "101"}),
            "--number takes a whole number from -5 to 100, not '101'.");
  EXPECT_EQ(ErrorOf({"--choice", "grean"}),
            "--choice is one of red, green, not 'grean'. Did you mean 'green'?");
  EXPECT_THAT(ErrorOf({"--time", "banana"}), HasSubstr("--time: 'banana' is not a duration: give"));
  EXPECT_THAT(ErrorOf({"--text", "a", "--number", "\xff"}), HasSubstr("not '\xEF\xBF\xBD'"));
}

TEST(OptionsTest, WhatIsNoTextIsRefusedByName) {
  EXPECT_THAT(
      Parse({"1", "--text", "a\xff"}),
      StatusIs(absl::StatusCode::kInvalidArgument, "--text is not valid UTF-8 (byte 0xff at 1)."));
  EXPECT_THAT(Parse({"1", "--list", "\xff"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--list is not valid")));
}

TEST(OptionsTest, MissingArgumentsAreNamedWithAnExample) {
  EXPECT_THAT(Parse({"--", "true"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "'hpcctl try' needs RUN, as in 'hpcctl try 1 -- true'; none was given."));
  EXPECT_THAT(Parse({"1"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("needs a command after '--'")));
  EXPECT_THAT(Parse({"1", "--"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("needs a command after '--'")));
}

TEST(OptionsTest, ACommandWithoutDashesIsExplained) {
  EXPECT_THAT(Parse({"1", "python", "train.py"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "'hpcctl try' has no use for 'python'. The command to run comes after '--', "
                       "as in 'hpcctl try 1 -- true'."));
}

TEST(OptionsTest, HelpEndsParsing) {
  const auto parsed = Parse({"--help", "--nonsense"});
  ASSERT_OK(parsed);
  EXPECT_TRUE(parsed->help_wanted);
}

TEST(OptionsTest, HelpShowsEveryOptionWithItsForm) {
  const auto parsed = Parse({"-h"});
  ASSERT_OK(parsed);
  for (const char* text :
       {"Usage: hpcctl try RUN [options] -- COMMAND [ARGS...]", "-t, --text T", "--flag ",
        "--choice red|green", "--maybe[=dash|underscore]", "Examples:\n  hpcctl try 1 -- true"}) {
    EXPECT_THAT(parsed->help, HasSubstr(text));
  }
}

}  // namespace
}  // namespace hpc::client
