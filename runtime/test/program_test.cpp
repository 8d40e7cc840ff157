//===- program_test.cpp - Emitted programs as their users start them ------===//

#include "array_file.h"
#include "run_command.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace parplan {
namespace runtime {
namespace {

const std::string mpirun =
    "mpirun --oversubscribe --allow-run-as-root --quiet -n ";

class ProgramTest : public testing::Test {
protected:
  ProgramTest() {
    char path[] = "/tmp/parplan-runtime-test-XXXXXX";
    folder = mkdtemp(path);
    std::vector<float> x(48);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 7) - 3;
    writeArray(folder + "/x.npy", ElementType::Float32, {6, 8}, x.data());
    writeArray(folder + "/rows.npy", ElementType::Float32, {4, 8}, x.data());
    rows = x;
    // The example looks for weights.bin beside itself.
    link(PARPLAN_EXAMPLE_PROGRAM, "example");
    link(PARPLAN_COLLECTIVES_PROGRAM, "collectives");
    weights.resize(280);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>((i * 37) % 11) / 8 - 0.5f;
    std::ofstream(folder + "/weights.bin", std::ios::binary)
        .write(reinterpret_cast<char *>(weights.data()), 1120);
  }
  ~ProgramTest() override {
    EXPECT_EQ(std::system(("rm -rf " + folder).c_str()), 0);
  }
  /// A copy, because a program finds its folder through its executable.
  void link(const std::string &from, const std::string &name) {
    EXPECT_EQ(std::system(("cp " + from + " " + folder + "/" + name).c_str()),
              0);
  }
  std::string example(const std::string &options) {
    return folder + "/example " + options;
  }
  std::string input() { return "--input x=" + folder + "/x.npy "; }
  std::vector<float> readOutput(const std::string &name, size_t count) {
    const std::string bytes = contents(folder + "/out/" + name + ".npy");
    std::vector<float> values(count);
    if (bytes.size() < count * 4) {
      ADD_FAILURE() << name << " is missing or short";
      return values;
    }
    std::copy_n(bytes.data() + bytes.size() - count * 4, count * 4,
                reinterpret_cast<char *>(values.data()));
    return values;
  }
  void checkExample() {
    const auto got = readOutput("y", 48);
    const float *w1 = &weights[0], *b1 = &weights[128], *w2 = &weights[144],
                *b2 = &weights[272];
    double worst = 0;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 8; ++j) {
        double sum = double(b2[j]) + rows[i * 8 + j];
        for (int l = 0; l < 15; ++l) {
          double hidden = b1[l];
          for (int k = 0; k < 8; ++k)
            hidden += double(rows[i * 8 + k]) * w1[k * 15 + l];
          hidden *= 0.5 * (1 + std::erf(hidden / std::sqrt(2.0)));
          sum += hidden * w2[j * 15 + l];
        }
        worst = std::max(worst, std::abs(sum - got[i * 8 + j]));
      }
    EXPECT_LT(worst, 1e-5);
  }
  void checkCollectives() {
    const auto x = [&](int a, int b, int i) {
      return rows[(a * 2 + b) * 8 + i];
    };
    const auto check = [&](const std::string &name, auto value) {
      const auto got = readOutput(name, 32);
      for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
          for (int i = 0; i < 8; ++i)
            EXPECT_EQ(got[(a * 2 + b) * 8 + i], value(a, b, i)) << name;
    };
    check("all_gather", x);
    check("all_to_all",
          [&](int a, int b, int i) { return x(a, i / 4, b * 4 + i % 4); });
    check("broadcast", [&](int a, int, int i) { return x(a, 1, i); });
    check("reduce", [&](int a, int b, int i) {
      return b ? 0.0f : std::max(x(a, 0, i), x(a, 1, i));
    });
    check("ring", [&](int a, int b, int i) {
      const int from = (a * 2 + b + 3) % 4;
      return x(from / 2, from % 2, i);
    });
    check("pairs", [&](int a, int b, int i) { return x(a, 1 - b, i); });
    check("all_gather_swapped",
          [&](int first, int second, int i) { return x(second, first, i); });
    const auto sum = readOutput("all_reduce", 8);
    const auto highest = readOutput("maximum", 8);
    const auto scattered = readOutput("reduce_scatter", 16);
    // Numbers that 16 bits hold.
    EXPECT_EQ(readOutput("bfloat16", 8), sum);
    EXPECT_EQ(readOutput("float16", 8), sum);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(sum[i], x(0, 0, i) + x(0, 1, i) + x(1, 0, i) + x(1, 1, i));
      EXPECT_EQ(highest[i], std::max(std::max(x(0, 0, i), x(0, 1, i)),
                                     std::max(x(1, 0, i), x(1, 1, i))));
      for (int b = 0; b < 2; ++b)
        EXPECT_EQ(scattered[b * 8 + i], x(0, b, i) + x(1, b, i));
    }
  }
  void expectFailure(const std::string &command, int code,
                     const std::string &text) {
    const Result result = run(command);
    EXPECT_EQ(result.code, code) << command << "\n" << result.output;
    EXPECT_NE(result.output.find(text), std::string::npos) << result.output;
  }
  /// Processes whose executable lies in the test's folder.
  int survivors() {
    int count = 0;
    DIR *processes = opendir("/proc");
    while (const dirent *entry = readdir(processes)) {
      char target[4096];
      const std::string path = std::string("/proc/") + entry->d_name + "/exe";
      const ssize_t length = readlink(path.c_str(), target, sizeof target);
      count +=
          length > 0 &&
          std::string(target, length).compare(0, folder.size(), folder) == 0;
    }
    closedir(processes);
    return count;
  }

  std::string folder;
  std::vector<float> rows, weights;
};

TEST_F(ProgramTest, StartsItsOwnRanks) {
  const Result result =
      run(example(input() + "--steps 3 --output-dir " + folder +
                  "/out --metrics " + folder + "/metrics.json"));
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(result.output, "");
  checkExample();
  const std::string metrics = contents(folder + "/metrics.json");
  for (const char *part :
       {"\"ranks\":2, \"steps\":3, \"mode\":\"inference\"",
        "\"peak_memory_bytes\":{\"per_rank\":[1408,1408]}",
        "{\"all_reduce\":{\"calls\":3,\"bytes\":576}}",
        // The digest of "all_reduce tp0 192\n".
        "36e69001de12bcd4063e5e793d262da912fbfa325b780a57eab8dfd95fd3dd44"})
    EXPECT_NE(metrics.find(part), std::string::npos) << metrics;
}

TEST_F(ProgramTest, RunsUnderMpirun) {
  const Result result =
      run(mpirun + "2 " + example(input() + "--output-dir " + folder + "/out"));
  EXPECT_EQ(result.code, 0) << result.output;
  checkExample();
}

TEST_F(ProgramTest, RunsAsThreads) {
  const Result result = run(example(input() +
                                    "--communicator local "
                                    "--output-dir " +
                                    folder + "/out"));
  EXPECT_EQ(result.code, 0) << result.output;
  checkExample();
}

TEST_F(ProgramTest, RunsUnderTorchrun) {
  // What torchrun sets, for two processes of one machine.
  const auto process = [&](int rank) {
    return "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost "
           "MASTER_PORT=29500 TORCHELASTIC_RUN_ID=" +
           folder.substr(5) + " RANK=" + std::to_string(rank) +
           " LOCAL_RANK=" + std::to_string(rank) + " " +
           example(input() + "--output-dir " + folder + "/out");
  };
  const Result result = run("(" + process(1) + " & " + process(0) +
                            "; c=$?; wait $! && exit $c)");
  EXPECT_EQ(result.code, 0) << result.output;
  checkExample();
}

TEST_F(ProgramTest, MissingEventsWouldShow) {
  for (int seed = 1; seed < 4; ++seed) {
    const Result result =
        run("PARPLAN_CHAOS=" + std::to_string(seed) + " " +
            example(input() + "--communicator local --steps 5 --output-dir " +
                    folder + "/out"));
    EXPECT_EQ(result.code, 0) << result.output;
    checkExample();
  }
}

TEST_F(ProgramTest, EveryCollectiveOverMpi) {
  const Result result = run(folder + "/collectives --input x=" + folder +
                            "/rows.npy --steps 2 --output-dir " + folder +
                            "/out --metrics " + folder + "/metrics.json");
  EXPECT_EQ(result.code, 0) << result.output;
  checkCollectives();
  const std::string metrics = contents(folder + "/metrics.json");
  // Two steps; the gathered output, the input of the scatter, the messages.
  EXPECT_NE(
      metrics.find("{\"all_reduce\":{\"calls\":8,\"bytes\":192},\"all_gather\":"
                   "{\"calls\":4,\"bytes\":384},\"reduce_scatter\":{\"calls\":"
                   "2,\"bytes\":64},\"broadcast\":{\"calls\":2,\"bytes\":64},"
                   "\"reduce\":{\"calls\":2,\"bytes\":64},\"all_to_all\":{"
                   "\"calls\":2,\"bytes\":64},\"send\":{\"calls\":4,\"bytes\":"
                   "128},\"recv\":{\"calls\":4,\"bytes\":128}}"),
      std::string::npos)
      << metrics;
}

TEST_F(ProgramTest, EveryCollectiveBetweenThreads) {
  for (const char *chaos : {"0", "5"}) {
    const Result result =
        run(std::string("PARPLAN_CHAOS=") + chaos + " " + folder +
            "/collectives --communicator local --input x=" + folder +
            "/rows.npy --steps 20 --output-dir " + folder + "/out");
    EXPECT_EQ(result.code, 0) << result.output;
    checkCollectives();
  }
}

TEST_F(ProgramTest, DisagreementWithThePlanIsRefused) {
  expectFailure(example(input() + "--ranks 4"), 78, "the plan is for 2 ranks");
  expectFailure(mpirun + "3 " + example(input()), 78,
                "mpirun started 3 ranks, but the plan is for 2");
  expectFailure("SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=5 " +
                    example(input()),
                78, "srun started 5 ranks");
  expectFailure("WORLD_SIZE=8 RANK=0 MASTER_ADDR=localhost " + example(input()),
                78, "torchrun started 8 ranks");
  expectFailure(example(input() + "--communicator self"), 78, "one rank");
  expectFailure(example(input() + "--communicator nccl"), 78, "GPUs");
  expectFailure("PARPLAN_MPIRUN=/nowhere/mpirun " + example(input()), 78,
                "cannot start '/nowhere/mpirun'");
}

TEST_F(ProgramTest, OtherRanksWaitForRankZeroToSayWhyItRefuses) {
  // The first rank that ends lets mpirun end the others.
  const std::string program = example(input());
  expectFailure(mpirun + "1 sh -c 'sleep 1; exec " + program + "' : -n 2 " +
                    program,
                78, "mpirun started 3 ranks, but the plan is for 2");
}

TEST_F(ProgramTest, WrongOptionsAreRefused) {
  expectFailure(example("--frobnicate"), 2, "unknown option");
  expectFailure(example("--steps"), 2, "takes a value");
  expectFailure(example("--data x"), 2, "for training programs");
  expectFailure(example("--steps 0"), 64, "positive number");
  expectFailure(example("--timeout never"), 64, "positive number");
  expectFailure(example("--input x"), 64, "NAME=FILE");
  expectFailure(example("--communicator tcp"), 64, "mpi, local, self or nccl");
  expectFailure(example(input() + "--input z=" + folder + "/x.npy"), 64,
                "no input 'z'");
  expectFailure(example(input() + input()), 64, "given twice");
}

TEST_F(ProgramTest, WrongInputsAreRefused) {
  const std::vector<double> wide(48);
  writeArray(folder + "/wide.npy", ElementType::Float64, {6, 8}, wide.data());
  writeArray(folder + "/shape.npy", ElementType::Float32, {8, 6}, wide.data());
  std::ofstream(folder + "/text.npy") << "not an array";
  std::ofstream(folder + "/cut.npy", std::ios::binary)
      << contents(folder + "/x.npy").substr(0, 200);
  std::ofstream(folder + "/bad.pb", std::ios::binary) << "\x08\xff";
  std::ofstream(folder + "/type.pb", std::ios::binary) << "\x10\x63";
  const auto with = [&](const std::string &file) {
    return example("--input x=" + folder + "/" + file);
  };
  expectFailure(example(""), 66, "no file for input 'x'");
  expectFailure(with("absent.npy"), 66, "No such file");
  expectFailure(with("wide.npy"), 65, "holds float64[6, 8]");
  expectFailure(with("shape.npy"), 65, "holds float32[8, 6]");
  expectFailure(with("text.npy"), 65, "neither a .npy file");
  expectFailure(with("cut.npy"), 65, "shorter than its shape");
  expectFailure(with("bad.pb"), 65, "malformed");
  expectFailure(with("type.pb"), 65, "TensorProto type 99");
}

TEST_F(ProgramTest, ReadsTensorProtos) {
  std::string raw("\x08\x06\x08\x08\x10\x01\x42\x01x\x4a\xc0\x01", 12);
  raw.append(reinterpret_cast<const char *>(rows.data()), 192);
  std::ofstream(folder + "/raw.pb", std::ios::binary) << raw;
  std::string packed("\x0a\x02\x06\x08\x10\x01\x22\xc0\x01", 9);
  packed.append(reinterpret_cast<const char *>(rows.data()), 192);
  std::ofstream(folder + "/packed.pb", std::ios::binary) << packed;
  for (const char *file : {"/raw.pb", "/packed.pb"}) {
    const Result result =
        run(example("--communicator local --input x=" + folder + file +
                    " --output-dir " + folder + "/out"));
    EXPECT_EQ(result.code, 0) << result.output;
    checkExample();
  }
}

TEST_F(ProgramTest, MissingAndShortWeightsAreRefused) {
  EXPECT_EQ(truncate((folder + "/weights.bin").c_str(), 1100), 0);
  expectFailure(example(input() + "--communicator local"), 65,
                "parameter 'fc2.bias' ends at byte 1120 of 1100");
  EXPECT_EQ(unlink((folder + "/weights.bin").c_str()), 0);
  expectFailure(example(input()), 65, "cannot open the weights");
}

TEST_F(ProgramTest, UnwritablePlacesAreRefusedBeforeTheRun) {
  expectFailure(example(input() + "--output-dir " + folder + "/x.npy/out"), 73,
                "cannot write to the folder");
  expectFailure(example(input() + "--metrics " + folder + "/no/metrics.json"),
                73, "cannot write");
}

TEST_F(ProgramTest, ASmallerArenaFails) {
  for (const char *form : {"", "--communicator local "})
    expectFailure(example(input() + form + "--arena-bytes 1407 --metrics " +
                          folder + "/metrics.json"),
                  78,
                  "the arena holds 1407 bytes, but a buffer ends at byte "
                  "1408");
  EXPECT_NE(contents(folder + "/metrics.json").find("\"failure\":"),
            std::string::npos);
  expectFailure("PARPLAN_ARENA_BYTES=1024 " + example(input()), 78,
                "the arena holds 1024 bytes");
}

TEST_F(ProgramTest, ADeadRankEndsAll) {
  expectFailure("PARPLAN_TEST_FAULT=kill " + folder +
                    "/collectives --input x=" + folder +
                    "/rows.npy --metrics " + folder + "/metrics.json",
                190, "a rank was ended by signal 9");
  EXPECT_EQ(survivors(), 0);
  EXPECT_NE(contents(folder + "/metrics.json").find("\"failure\":"),
            std::string::npos);
}

TEST_F(ProgramTest, AHangingRankIsNoticed) {
  for (const char *form : {"", "--communicator local "})
    expectFailure("PARPLAN_TEST_FAULT=hang " + folder + "/collectives " + form +
                      "--timeout 1 --input x=" + folder + "/rows.npy",
                  191, "no answer for 1 s in all_reduce number 1 on 'a+b'");
  EXPECT_EQ(survivors(), 0);
}

TEST_F(ProgramTest, RanksEndWithTheirLauncher) {
  // SIGKILL of the program itself: nothing of it can clean up.
  run("PARPLAN_TEST_FAULT=hang timeout -s KILL 2 " + folder +
      "/collectives --input x=" + folder + "/rows.npy");
  for (int tries = 0; survivors() > 0 && tries < 50; ++tries)
    usleep(100000);
  EXPECT_EQ(survivors(), 0);
}

TEST_F(ProgramTest, PrintsHowItWouldStart) {
  const Result result = run(example("--print-launch " + input()));
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("OMP_NUM_THREADS=1"), std::string::npos);
  EXPECT_NE(result.output.find("mpirun --quiet --oversubscribe --bind-to none "
                               "--allow-run-as-root -n 2 " +
                               folder + "/example --input"),
            std::string::npos)
      << result.output;
}

TEST_F(ProgramTest, HelpListsInputsAndOutputs) {
  const Result result = run(example("--help"));
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("input  'x'  float32[6, 8]"), std::string::npos);
}

} // namespace
} // namespace runtime
} // namespace parplan
