//===- checkpoint_test.cpp - Runs that end early and go on ----------------===//

#include "training_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

namespace parplan {
namespace runtime {
namespace {

class CheckpointTest : public TrainingTest {
protected:
  CheckpointTest() {
    expectRun(program("two", "--steps 12 --save " + file("whole.safetensors")));
    wholeLosses = numbers("loss");
  }
  /// Ends the run that the folder's checkpoints are of.
  void expectResumes(size_t step, const std::string &options = "") {
    expectRun(program("two", "--steps 12 " + checkpoints() + options +
                                 " --save " + file("saved.safetensors")));
    EXPECT_EQ(metric("first_step"), std::to_string(step));
    EXPECT_EQ(numbers("loss"), std::vector<double>(wholeLosses.begin() + step,
                                                   wholeLosses.end()));
    EXPECT_EQ(contents(file("saved.safetensors")),
              contents(file("whole.safetensors")));
  }
  std::string checkpoints() {
    return "--checkpoint-dir " + file("checkpoints") + " ";
  }
  std::vector<std::string> checkpointNames() {
    std::vector<std::string> names;
    DIR *directory = opendir(file("checkpoints").c_str());
    if (!directory)
      return names;
    while (const dirent *entry = readdir(directory))
      if (entry->d_name[0] != '.')
        names.push_back(entry->d_name);
    closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
  }
  void damage(const std::string &name, size_t position) {
    std::string bytes = contents(file(name));
    ASSERT_LT(position, bytes.size());
    bytes[position] = static_cast<char>(bytes[position] ^ 4);
    write(name, bytes);
  }

  std::vector<double> wholeLosses;
};

TEST_F(CheckpointTest, AResumedRunIsTheUninterruptedOne) {
  expectRun(program("two", "--steps 7 --checkpoint-every 3 " + checkpoints()));
  EXPECT_EQ(checkpointNames(),
            (std::vector<std::string>{"step-00000006", "step-00000007"}));
  expectResumes(7);
  EXPECT_EQ(checkpointNames(),
            (std::vector<std::string>{"step-00000007", "step-00000012"}));
  // Nothing is left to do; then from a given one; then anew.
  expectResumes(12);
  expectResumes(7, "--resume " + file("checkpoints/step-00000007"));
  expectResumes(0, "--resume none");
}

TEST_F(CheckpointTest, NoPlanIsPartOfIt) {
  expectRun(program("two", "--steps 5 " + checkpoints()));
  expectRun(program("one", "--steps 8 " + checkpoints()));
  const Reference model = train(12);
  Reference until8 = model;
  until8.losses.resize(8);
  until8.norms.resize(8);
  expectMetrics(until8, 5);
  expectRun(program("two", "--steps 12 " + checkpoints() + "--save " +
                               file("saved.safetensors")));
  expectMetrics(model, 8);
  expectSaved(model);
}

TEST_F(CheckpointTest, AKillAtAnyMomentLeavesAWholeOne) {
  for (const char *point :
       {"folder", "half", "state", "manifest", "published", "pruned"}) {
    const bool published = std::strcmp(point, "published") == 0 ||
                           std::strcmp(point, "pruned") == 0;
    EXPECT_EQ(std::system(("rm -rf " + file("checkpoints")).c_str()), 0);
    expectFailure(
        "PARPLAN_TEST_KILL=" + std::string(point) + ":9 " +
            program("two", "--steps 12 --checkpoint-every 3 " + checkpoints()),
        190, "ended by signal 9");
    expectResumes(published ? 9 : 6);
    for (const std::string &name : checkpointNames())
      EXPECT_EQ(name.size(), 13u) << name;
  }
}

TEST_F(CheckpointTest, PassesOverWhatIsDamaged) {
  for (const char *name : {"state.safetensors", "manifest.json"}) {
    EXPECT_EQ(std::system(("rm -rf " + file("checkpoints")).c_str()), 0);
    expectRun(
        program("two", "--steps 8 --checkpoint-every 4 " + checkpoints()));
    for (size_t position : {0, 30, 200}) {
      damage(std::string("checkpoints/step-00000008/") + name, position);
      const Result result = run(program(
          "two", "--steps 8 --resume " + file("checkpoints/step-00000008")));
      EXPECT_EQ(result.code, 65) << result.output;
      EXPECT_NE(result.output.find("is not whole"), std::string::npos);
      damage(std::string("checkpoints/step-00000008/") + name, position);
    }
    damage(std::string("checkpoints/step-00000008/") + name, 100);
    expectResumes(4);
    EXPECT_EQ(checkpointNames(),
              (std::vector<std::string>{"step-00000004", "step-00000012"}));
  }
  damage("checkpoints/step-00000004/manifest.json", 5);
  damage("checkpoints/step-00000012/state.safetensors", 5);
  expectFailure(program("two", "--steps 12 " + checkpoints()), 65,
                "no checkpoint in");
}

TEST_F(CheckpointTest, AFullDiskLeavesWhatWasThere) {
  expectRun(program("two", "--steps 2 " + checkpoints()));
  const std::string before =
      contents(file("checkpoints/step-00000002/state.safetensors"));
  // Half a kibibyte for each file.
  expectFailure("ulimit -f 1; " + file("two") +
                    " --communicator local --data " + file("data") +
                    " --steps 4 " + checkpoints(),
                74, "cannot write");
  EXPECT_EQ(checkpointNames().front(), "step-00000002");
  EXPECT_EQ(contents(file("checkpoints/step-00000002/state.safetensors")),
            before);
  expectResumes(2);
}

TEST_F(CheckpointTest, WritesNoneThatIsNotFinite) {
  expectRun(program("two", "--steps 2 " + checkpoints()));
  for (const auto &form : {std::make_pair("state", "exp_avg_sq/fc.bias"),
                           std::make_pair("bias", "parameter/fc.bias")}) {
    const std::string poisoned =
        "PARPLAN_TEST_NAN=" + std::string(form.first) + " ";
    expectFailure(poisoned + program("two", "--steps 3 " + checkpoints()), 65,
                  "element 1 of '" + std::string(form.second) +
                      "' is not finite after step 3; no checkpoint is written");
    EXPECT_EQ(checkpointNames(), std::vector<std::string>{"step-00000002"});
  }
  expectResumes(2);
}

TEST_F(CheckpointTest, RefusesAFolderThatAnotherRunHas) {
  expectRun(program("two", "--steps 2 " + checkpoints()));
  const int other =
      open(file("checkpoints").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  expectFailure(program("one", "--steps 4 " + checkpoints()), 78,
                "another run writes checkpoints to");
  close(other);
  EXPECT_EQ(checkpointNames(), std::vector<std::string>{"step-00000002"});
  expectResumes(2);
}

TEST_F(CheckpointTest, WarnsOfOneBeyondTheSteps) {
  expectRun(program("two", "--steps 5 " + checkpoints()));
  const Result result = run(program("two", "--steps 3 " + checkpoints()));
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("the checkpoint is of step 5, beyond --steps 3"),
            std::string::npos)
      << result.output;
  EXPECT_EQ(checkpointNames(), std::vector<std::string>{"step-00000005"});
}

TEST_F(CheckpointTest, RefusesThoseOfOtherModels) {
  expectRun(program("two", "--steps 2 " + checkpoints()));
  expectFailure(program("other", "--steps 4 " + checkpoints()), 78,
                "is of another model: its SHA-256 is aa");
  expectFailure(program("two", "--resume " + file("nowhere")), 66,
                "cannot open the checkpoint");
  EXPECT_EQ(std::system(("mkdir " + file("empty")).c_str()), 0);
  expectFailure(program("two", "--resume " + file("empty")), 65,
                "is not whole: manifest.json: No such file");
}

TEST_F(CheckpointTest, SavesWhenItIsPreempted) {
  for (const char *form : {"", "--communicator local "}) {
    EXPECT_EQ(std::system(("rm -rf " + file("checkpoints")).c_str()), 0);
    const Result result =
        run("PARPLAN_TEST_DELAY=600 timeout -s TERM 6 " +
            program("two", "--steps 12 " + checkpoints() + form + "--save " +
                               file("never.onnx")) +
            "; echo code $?");
    // `timeout` says 124 for a program that it ended.
    const size_t done = numbers("loss").size();
    EXPECT_NE(result.output.find("code 124"), std::string::npos);
    EXPECT_GT(done, 0u);
    EXPECT_LT(done, 12u);
    EXPECT_EQ(checkpointNames().size(), 1u);
    EXPECT_NE(access(file("never.onnx").c_str(), F_OK), 0);
    expectResumes(done);
  }
  const Result result =
      run("PARPLAN_TEST_DELAY=600 timeout --preserve-status -s TERM 6 " +
          program("two", "--steps 12 --resume none " + checkpoints()));
  EXPECT_EQ(result.code, 193) << result.output;
}

} // namespace
} // namespace runtime
} // namespace parplan
