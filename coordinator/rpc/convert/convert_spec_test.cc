#include "coordinator/rpc/convert/convert_spec.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "common/status_matchers.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::util::MessageDifferencer;
using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kTooLarge = absl::StatusCode::kResourceExhausted;

void Fill(Message* message);

// Sets the field, or adds an item to it. The value is the field's own, so that a mix-up of two
// fields shows.
void FillField(const FieldDescriptor* field, Message* message) {
  const auto* reflection = message->GetReflection();
  const bool repeated = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection->AddInt32(message, field, field->number())
                      : reflection->SetInt32(message, field, field->number());
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(message, field, field->number());
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(message, field, true);
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? reflection->AddString(message, field, field->name())
                      : reflection->SetString(message, field, field->name());
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->SetEnumValue(message, field, field->enum_type()->value_count() - 1);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Fill(repeated ? reflection->AddMessage(message, field)
                           : reflection->MutableMessage(message, field));
    default:
      FAIL() << "say what a value of " << field->full_name() << " is";
  }
}

void Fill(Message* message) {
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    FillField(message->GetDescriptor()->field(i), message);
  }
}

// Returns a spec of which every field is set, those of tomorrow too.
v1::RunSpec FullSpec() {
  v1::RunSpec spec;
  Fill(&spec);
  spec.set_workdir("/work");
  spec.clear_unstored_env();  // is not given back
  return spec;
}

class StoredSpec : public ::testing::Test {
 protected:
  // Returns what a client is told about a run that was submitted like this, after a restart of the
  // coordinator.
  v1::RunSpec Stored(const v1::RunSpec& spec) {
    v1::SubmitRequest request;
    *request.mutable_spec() = spec;
    EXPECT_OK(CheckSubmit(request));
    RunRecord run = testing::MakeRun(++id_);
    run.request = ToRunRequest(spec);
    EXPECT_OK((*OpenSqliteStore(file_))
                  ->Commit({.changes = {run}, .programs = {{run.id, ToRunProgram(request)}}}));
    const auto store = *OpenSqliteStore(file_);
    return ToSpec(store->GetRunRecord(run.id)->request, *store->GetProgram(run.id));
  }

  testing::TempDir dir_;
  const std::string file_ = dir_.File("hpc.db");
  RunId id_ = 0;
};

TEST_F(StoredSpec, EveryFieldComesBackAsItWent) {
  v1::RunSpec spec = FullSpec();
  id_ = spec.after_run() - 1;  // only a run that exists is one to start after
  const v1::RunSpec back = Stored(spec);
  EXPECT_TRUE(MessageDifferencer::Equals(back, spec)) << back.DebugString();
}

TEST_F(StoredSpec, EveryWordOfAnEnumComesBackAsItWent) {
  for (int i = 0; i < v1::RunSpec::descriptor()->field_count(); ++i) {
    const FieldDescriptor* field = v1::RunSpec::descriptor()->field(i);
    if (field->enum_type() == nullptr) continue;
    for (int value = 1; value < field->enum_type()->value_count(); ++value) {
      v1::RunSpec spec;
      spec.add_command("true");
      spec.set_workdir("/");
      spec.GetReflection()->SetEnumValue(&spec, field, value);
      const v1::RunSpec back = Stored(spec);
      EXPECT_EQ(back.GetReflection()->GetEnumValue(back, field), value) << field->full_name();
    }
  }
}

TEST(ConvertSpec, VariablesThatAreNotToBeStoredAreNamed) {
  v1::SubmitRequest request;
  request.mutable_spec()->add_unstored_env("HF_TOKEN");
  EXPECT_THAT(ToRunProgram(request).unstored_env, ::testing::ElementsAre("HF_TOKEN"));
}

TEST(ConvertSpec, WhatIsLeftOutTakesItsDefault) {
  v1::RunSpec spec;
  spec.add_command("/usr/bin/python3");
  const RunRequest request = ToRunRequest(spec);
  EXPECT_EQ(request.name, "python3");
  EXPECT_EQ(request.experiment, "default");
  EXPECT_EQ(request.min_nodes, 1);
  EXPECT_EQ(request.max_nodes, 1);
  EXPECT_EQ(request.gpus_per_node, std::nullopt);
  EXPECT_EQ(request.time_limit, absl::InfiniteDuration());
  EXPECT_EQ(request.stop_grace, absl::Seconds(30));
  EXPECT_EQ(request.mode, protocol::LaunchMode::kTorchrun);
  EXPECT_EQ(request.grow, GrowMode::kCheckpoint);
  EXPECT_EQ(request.store_host, protocol::StoreHost::kAuto);
}

TEST(ConvertSpec, TheLargestNumberOfNodesIsTheLeastWhereOnlyThatIsSaid) {
  v1::RunSpec spec;
  spec.add_command("true");
  spec.set_min_nodes(2);
  EXPECT_EQ(ToRunRequest(spec).max_nodes, 2);
}

TEST(ConvertSpec, AnInterpretersRunIsCalledAfterItsScript) {
  const auto name = [](std::initializer_list<const char*> command) {
    v1::RunSpec spec;
    for (const char* argument : command) spec.add_command(argument);
    return ToRunRequest(spec).name;
  };
  EXPECT_EQ(name({"/usr/bin/python3", "-u", "code/train.py", "--lr", "1"}), "train.py");
  EXPECT_EQ(name({"python", "-m", "package.train"}), "package.train");
  EXPECT_EQ(name({"python", "-c", "print(1)"}), "python");
  EXPECT_EQ(name({"bash", "train.sh"}), "train.sh");
  EXPECT_EQ(name({"hpc-train", "digits"}), "hpc-train");
}

TEST(ConvertSpec, AProgramWhoseFileNameIsNoNameIsCalledRun) {
  v1::RunSpec spec;
  spec.add_command("/bin/line\nend");
  EXPECT_EQ(ToRunRequest(spec).name, "run");
}

v1::SubmitRequest Good() {
  v1::SubmitRequest request;
  request.mutable_spec()->add_command("python");
  request.mutable_spec()->add_command("train.py");
  request.mutable_spec()->set_workdir("/home/ada");
  return request;
}

TEST(CheckSubmit, TheLeastThatIsEnough) { EXPECT_OK(CheckSubmit(Good())); }

TEST(CheckSubmit, ACommandIsNeeded) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->clear_command();
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("name a program")));
  request.mutable_spec()->add_command("");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("name a program")));
}

TEST(CheckSubmit, ANulByteIsFoundWhereverItIs) {
  const std::string nul("a\0b", 3);
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_command(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("argument 2 contains a NUL")));
  request = Good();
  request.mutable_spec()->set_name(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("name")));
  request = Good();
  request.mutable_spec()->add_tags(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("tag")));
  request = Good();
  request.mutable_spec()->add_params()->set_key(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("parameter")));
  request = Good();
  v1::KeyValue* variable = request.mutable_spec()->add_env();
  variable->set_key("A");
  variable->set_value(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("environment variable A")));
}

TEST(CheckSubmit, TenMegabytesOfArgumentsAreTooMany) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_command(std::string(10'000'000, 'x'));
  EXPECT_THAT(CheckSubmit(request), StatusIs(kTooLarge, HasSubstr("at most 9.5 MiB")));
}

TEST(CheckSubmit, TheDirectoryMustBeAbsolute) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->set_workdir("train");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("'train' is not an absolute")));
}

TEST(CheckSubmit, KeysAreUnique) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_params()->set_key("lr");
  request.mutable_spec()->add_params()->set_key("lr");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("lr is given twice")));
  request = Good();
  request.mutable_spec()->add_env()->set_key("PATH");
  request.mutable_spec()->add_env()->set_key("PATH");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("PATH is given twice")));
}

TEST(CheckSubmit, AVariablesNameHasNoEqualsSign) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_env()->set_key("A=B");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("contains '='")));
}

TEST(CheckSubmit, WhatIsNotToBeStoredHasAValue) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_unstored_env("HF_TOKEN");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("HF_TOKEN is not to be stored")));
}

TEST(CheckSubmit, NumbersStayInTheirRanges) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->set_min_nodes(-1);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("number of nodes is -1")));
  request = Good();
  request.mutable_spec()->set_priority(1001);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("from -1000 to 1000")));
  request = Good();
  request.mutable_spec()->set_time_limit_ms(-5);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("time limit")));
}

TEST(CheckSubmit, ANameThatStandsForAnotherRunIsRefused) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->set_name("12");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("taken for a run's number")));
  request.mutable_spec()->set_name("last");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("'last' is your newest run")));
  request.mutable_spec()->set_name("12b");
  EXPECT_OK(CheckSubmit(request));
}

TEST(CheckSubmit, UnknownEnumsAreNotGuessed) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->set_mode(static_cast<v1::LaunchMode>(77));
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("launch mode 77")));
}

TEST(CheckSubmit, ARequestIdIsShort) {
  v1::SubmitRequest request = Good();
  request.set_request_id(std::string(65, 'x'));
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("request id")));
}

}  // namespace
}  // namespace hpc::coordinator
