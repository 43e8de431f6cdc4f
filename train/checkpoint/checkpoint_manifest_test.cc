#include "train/checkpoint/checkpoint_manifest.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::HasSubstr;

CheckpointManifest Some() {
  return {.run = "17",
          .step = 300,
          .world = 4,
          .optimizer = "adamw",
          .metric = 0.25,
          .values = {{"epoch", "3"}},
          .parameters = {{"fc.weight", "F32", {10, 64}}, {"fc.bias", "F32", {10}}},
          .buffers = {{"mean", "F64", {}}},
          .files = {{"model.safetensors", 2600, std::string(64, 'a')},
                    {"optimizer-1-of-1.safetensors", 5200, std::string(64, 'b')}}};
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseManifest(text);
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "none";
}

TEST(CheckpointManifest, WhatIsEncodedIsParsedToTheSame) {
  const CheckpointManifest same = ParseManifest(EncodeManifest(Some()));
  EXPECT_EQ(EncodeManifest(same), EncodeManifest(Some()));
  EXPECT_EQ(same.metric, 0.25);
  EXPECT_EQ(same.files[0].bytes, 2600u);
  CheckpointManifest no_metric = Some();
  no_metric.metric = 0.0 / 0.0;
  EXPECT_EQ(ParseManifest(EncodeManifest(no_metric)).metric, std::nullopt);
}

TEST(CheckpointManifest, WhatIsNotOneIsRefused) {
  const std::string text = EncodeManifest(Some());
  EXPECT_THAT(ErrorOf(text.substr(0, text.size() / 2)), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("something else than was written"));
  EXPECT_THAT(ErrorOf(Replaced(text, "\"step\": 300", "\"step\": \"x\"")),
              HasSubstr("something else than was written"));
  EXPECT_THAT(ErrorOf(Replaced(text, "\"step\": 300", "\"step\": -5")),
              HasSubstr("says step -5 of 4 ranks: it is damaged"));
  EXPECT_THAT(ErrorOf(Replaced(text, "model.safetensors", "../model")),
              HasSubstr("names a file '../model', which is none of its folder"));
  CheckpointManifest no_states = Some();
  no_states.files.pop_back();
  EXPECT_THAT(ErrorOf(EncodeManifest(no_states)), HasSubstr("it names 1 file: it is damaged"));
  EXPECT_THROW(ParseManifest(Replaced(text, "\"format\": 1", "\"format\": 2")),
               NewerCheckpointError);
}

TEST(CheckpointManifest, TheFirstParameterThatDiffersIsNamed) {
  const std::vector<CheckpointTensor> saved = Some().parameters;
  std::vector<CheckpointTensor> model = saved;
  EXPECT_EQ(FirstDifference("parameter", saved, model), std::nullopt);
  model[0].shape = {10, 32};
  EXPECT_EQ(FirstDifference("parameter", saved, model),
            "parameter 'fc.weight' is F32[10, 64] in the checkpoint and F32[10, 32] in the model");
  model = {saved[0], {"new", "F32", {1}}};
  EXPECT_EQ(FirstDifference("parameter", saved, model), "parameter 'new' is not in the checkpoint");
  model = {saved[1]};
  EXPECT_EQ(FirstDifference("parameter", saved, model),
            "parameter 'fc.weight' is in the checkpoint alone");
}

}  // namespace
}  // namespace hpc::train
