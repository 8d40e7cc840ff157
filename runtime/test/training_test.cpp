//===- training_test.cpp - Training programs as their users start them ----===//

#include "training_fixture.h"

namespace parplan {
namespace runtime {
namespace {

// --- training and saving
// -----------------------------------------------------------

TEST_F(TrainingTest, TrainsAsTheFormulasSay) {
  const Reference model = train(12);
  for (const auto &form : {std::make_pair("two", ""),
                           std::make_pair("two", "--communicator local "),
                           std::make_pair("one", "")}) {
    unlink(file("saved.safetensors").c_str());
    expectRun(program(form.first, form.second +
                                      std::string("--steps 12 --save ") +
                                      file("saved.safetensors")));
    expectMetrics(model);
    expectSaved(model);
    EXPECT_EQ(metric("mode"), "\"train\"");
    EXPECT_EQ(metric("steps"), "12");
    EXPECT_NE(contents(file("metrics.json")).find("[1188"), std::string::npos);
  }
}

TEST_F(TrainingTest, SavesTheModelWithNothingElseChanged) {
  expectRun(program("two", "--steps 3 --save " + file("saved.onnx")));
  const std::string bytes = contents(file("saved.onnx"));
  std::string rest = bytes, original = contents(file("trained.onnx.template"));
  ASSERT_EQ(bytes.size(), 160u);
  expectWeights(train(3), bytes, 16, 96);
  for (size_t i = 16; i < 106; ++i)
    rest[i] = original[i] = 0;
  EXPECT_EQ(rest, original);
}

TEST_F(TrainingTest, GoesOnceThroughTheDataByDefault) {
  expectRun(program("one", ""));
  EXPECT_EQ(metric("steps"), "2");
}

TEST_F(TrainingTest, ReadsColumnMajorArrays) {
  std::vector<float> turned(x.size());
  for (int64_t i = 0; i < samples; ++i)
    for (int64_t j = 0; j < features; ++j)
      turned[j * samples + i] = x[i * features + j];
  EXPECT_TRUE(writeArray(file("data/x.npy"), ElementType::Float32,
                         {samples, features}, turned.data()));
  std::string bytes = contents(file("data/x.npy"));
  bytes.replace(bytes.find("False"), 6, "True, ");
  write("data/x.npy", bytes);
  expectRun(program("two", "--steps 4"));
  expectMetrics(train(4));
}

TEST_F(TrainingTest, ScalesTheLossAndSkipsOverflows) {
  // Gradients of this size do not fit 65504 with the first scales.
  for (float &value : x)
    value *= 8;
  writeData();
  expectRun("PARPLAN_TEST_SCALED=1 " + program("two", "--steps 8"));
  const std::vector<double> got = numbers("loss");
  const int64_t skipped = std::stoll(metric("skipped_steps"));
  EXPECT_GT(skipped, 0);
  EXPECT_LT(skipped, 8);
  // While steps are skipped, parameters and states stay what they are.
  const Reference model = train(8, skipped);
  ASSERT_EQ(got.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(got[i], model.losses[i], 1e-5 * model.losses[i]);
  EXPECT_EQ(metric("steps"), "8");
}

TEST_F(TrainingTest, StopsWhenEveryLossScaleOverflows) {
  for (float &value : x)
    value *= 1e30f;
  writeData();
  // From 2^16 down to 2^-25.
  expectFailure("PARPLAN_TEST_SCALED=1 " + program("two", "--steps 60"), 65,
                "the gradient of step 42 overflows with every loss scale down "
                "to 2.98e-08");
}

TEST_F(TrainingTest, NothingIsAllocatedDuringSteps) { expectSteadyHeap("two"); }

TEST_F(TrainingTest, ShowsProgress) {
  const Result result = run("PARPLAN_PROGRESS=1 PARPLAN_TEST_DELAY=200 " +
                            program("two", "--steps 6"));
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("\rstep 0/6"), std::string::npos);
  EXPECT_NE(result.output.find("samples/s  0:00:0"), std::string::npos);
  EXPECT_NE(result.output.find("\rstep 6/6  loss"), std::string::npos);
  EXPECT_EQ(result.output.back(), '\n');
}

// --- bad input
// --------------------------------------------------------------------

TEST_F(TrainingTest, RefusesOptions) {
  const std::string plain = file("two");
  expectFailure(plain, 66, "no data; give --data DIR");
  expectFailure(program("two", "--input x=y"), 2, "--input is for forward");
  expectFailure(program("two", "--output-dir y"), 2, "is for forward passes");
  expectFailure(program("two", "--steps 0"), 64, "--steps takes a positive");
  expectFailure(program("two", "--steps"), 2, "--steps takes a value");
  expectFailure(program("two", "--save x.bin"), 64, ".onnx or .safetensors");
  expectFailure(program("two", "--save /nowhere/x.onnx"), 73, "cannot write");
  expectFailure(program("two", "--checkpoint-every 2"), 2, "--checkpoint-dir");
  expectFailure(program("two", "--checkpoint-every 0"), 64, "positive number");
  expectFailure(program("two", "--resume auto"), 2, "needs --checkpoint-dir");
  expectFailure(program("two", "--checkpoint-dir /proc/x"), 73, "cannot write");
  expectFailure(program("two", "--tokens uint8"), 64, "uint16 or uint32");
  expectFailure(program("two", "--sequence-length 4"), 2, "needs --tokens");
  expectFailure(program("two", "--tokens uint16 --sequence-length 4"), 64,
                "--tokens is for programs with one input of token ids");
}

TEST_F(TrainingTest, SavesLargeModelsAsWeightsOnly) {
  expectFailure("PARPLAN_TEST_LARGE=1 " +
                    program("two", "--steps 3 --save " + file("saved.onnx")),
                64,
                "the model is too large for an ONNX file; save as "
                ".safetensors");
  EXPECT_NE(access(file("saved.onnx").c_str(), F_OK), 0);
  expectRun("PARPLAN_TEST_LARGE=1 " +
            program("two", "--steps 3 --save " + file("saved.safetensors")));
  expectSaved(train(3));
}

TEST_F(TrainingTest, RefusesData) {
  labels[7] = 5;
  writeData();
  expectFailure(program("two", ""), 65,
                "'labels': sample 7 has label 5; labels are -100 (ignored) or "
                "0 to 4");
  labels[7] = -1;
  writeData();
  expectFailure(program("two", ""), 65, "sample 7 has label -1");
  writeArray(file("data/labels.npy"), ElementType::Int32, {samples},
             labels.data());
  expectFailure(program("two", ""), 65,
                "input 'labels' is int64[] in each sample, but");
  writeArray(file("data/labels.npy"), ElementType::Int64, {samples - 1},
             labels.data());
  expectFailure(program("two", ""), 65, "holds 9 samples, but");
  writeArray(file("data/labels.npy"), ElementType::Int64, {samples, 1},
             labels.data());
  expectFailure(program("two", ""), 65, "int64[10, 1]");
  unlink(file("data/labels.npy").c_str());
  expectFailure(program("two", ""), 66, "input 'labels': cannot open");
  writeData();
  labels[7] = 0;
  writeData();
  const std::string bytes = contents(file("data/x.npy"));
  write("data/x.npy", bytes.substr(0, bytes.size() - 1));
  expectFailure(program("two", ""), 65, "shorter than its shape says");
  writeArray(file("data/x.npy"), ElementType::Float32, {0, features}, x.data());
  writeArray(file("data/labels.npy"), ElementType::Int64, {0}, labels.data());
  expectFailure(program("two", ""), 65, "holds no samples");
  EXPECT_NE(contents(file("metrics.json")).find("\"failure\":"),
            std::string::npos);
}

TEST_F(TrainingTest, StopsAtALossThatIsNoNumber) {
  x[8 * features] = NAN;
  writeData();
  write("saved.onnx", "earlier");
  expectFailure(program("two", "--steps 9 --save " + file("saved.onnx")), 65,
                "the loss of step 2 is NaN");
  EXPECT_EQ(contents(file("saved.onnx")), "earlier");
  EXPECT_NE(access(file("saved.onnx.partial").c_str(), F_OK), 0);
  const std::string text = contents(file("metrics.json"));
  EXPECT_NE(text.find(",null]"), std::string::npos) << text;
  EXPECT_NE(text.find("the loss of step 2 is NaN"), std::string::npos) << text;
}

TEST_F(TrainingTest, SavesNoModelThatIsNotFinite) {
  for (const char *name : {"saved.onnx", "saved.safetensors"}) {
    write(name, "earlier");
    expectFailure("PARPLAN_TEST_NAN=bias " +
                      program("two", "--steps 1 --save " + file(name)),
                  65,
                  "element 1 of 'fc.bias' is not finite after training; "
                  "nothing is saved");
    EXPECT_EQ(contents(file(name)), "earlier");
    EXPECT_NE(access((file(name) + ".partial").c_str(), F_OK), 0);
  }
}

} // namespace
} // namespace runtime
} // namespace parplan
