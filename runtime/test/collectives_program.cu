//===- collectives_program.cu - Every collective once ---------------------===//
//
// Mesh a=2, b=2. Each rank starts with one row x[r] of eight whole numbers, so
// that every result is exact. PARPLAN_TEST_FAULT makes rank 1 misbehave.
//
//===----------------------------------------------------------------------===//

#include "parplan_runtime/program.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace parplan::runtime;

namespace {

constexpr Axis mesh[] = {{"a", 2}, {"b", 2}};
constexpr int32_t axisA[] = {0};
constexpr int32_t axisB[] = {1};
constexpr int32_t axesBoth[] = {0, 1};
constexpr int32_t axesSwapped[] = {1, 0};
constexpr CommunicatorEntry communicators[] = {
    {"a", axisA}, {"b", axisB}, {"a+b", axesBoth}, {"b+a", axesSwapped}};

constexpr Dimension rowPerRank[] = {{4, axesBoth}, {8, {}}};
constexpr Tensor inputs[] = {{"x", ElementType::Float32, rowPerRank, 0}};

constexpr Dimension replicated[] = {{8, {}}};
constexpr Dimension rowsPerA[] = {{4, axisA}, {8, {}}};
constexpr Dimension scattered[] = {{2, axisB}, {8, axisA}};
constexpr Dimension gatheredSwapped[] = {{4, {}}, {8, {}}};
constexpr Tensor outputs[] = {
    {"all_reduce", ElementType::Float32, replicated, 64},
    {"all_gather", ElementType::Float32, rowsPerA, 128},
    {"reduce_scatter", ElementType::Float32, scattered, 192},
    {"all_to_all", ElementType::Float32, rowPerRank, 256},
    {"broadcast", ElementType::Float32, rowPerRank, 320},
    {"reduce", ElementType::Float32, rowPerRank, 384},
    {"ring", ElementType::Float32, rowPerRank, 448},
    {"pairs", ElementType::Float32, rowPerRank, 512},
    {"all_gather_swapped", ElementType::Float32, gatheredSwapped, 576},
    {"maximum", ElementType::Float32, replicated, 704},
    {"bfloat16", ElementType::Float32, replicated, 768},
    {"float16", ElementType::Float32, replicated, 832},
};

void misbehave(Rank &rank) {
  const char *fault = std::getenv("PARPLAN_TEST_FAULT");
  if (!fault || rank.rank() != 1)
    return;
  if (std::strcmp(fault, "kill") == 0)
    raise(SIGKILL);
  if (std::strcmp(fault, "hang") == 0)
    sleep(60);
}

template <typename From, typename To> struct ConvertKernel {
  const From *in;
  To *out;
  PARPLAN_DEVICE void operator()(int64_t i) const { out[i] = To(float(in[i])); }
};

/// The sum of all rows in 16 bits, at `offset` as float.
template <typename Element>
void sumNarrow(Rank &rank, ElementType type, int64_t offset) {
  Stream &stream = rank.stream(1);
  auto *narrow = rank.at<Element>(offset + 32);
  const Range wide = {offset, 32}, halves = {offset + 32, 16};
  map<1>(stream, {{0, 32}, halves}, {{8}},
         ConvertKernel<float, Element>{rank.at<float>(0), narrow});
  rank.communicator(2).allReduce(stream, {halves}, Reduction::Sum, type, narrow,
                                 narrow, 8);
  map<1>(stream, {wide, halves}, {{8}},
         ConvertKernel<Element, float>{narrow, rank.at<float>(offset)});
}

void step(Rank &rank) {
  Stream &compute = rank.stream(0);
  Stream &wire = rank.stream(1);
  Communicator &a = rank.communicator(0);
  Communicator &b = rank.communicator(1);
  Communicator &all = rank.communicator(2);
  Communicator &swapped = rank.communicator(3);
  const auto type = ElementType::Float32;
  const auto at = [&](int64_t offset) { return rank.at<float>(offset); };

  misbehave(rank);
  zero(compute, {{384, 32}}, at(384), 32);
  copyBytes(compute, {{0, 32}, {704, 32}}, at(0), at(704), 32);
  rank.record(0, compute);
  rank.wait(0, wire);

  all.allReduce(wire, {{0, 32}, {64, 32}}, Reduction::Sum, type, at(0), at(64),
                8);
  b.allGather(wire, {{0, 32}, {128, 64}}, type, at(0), at(128), 8);
  a.reduceScatter(wire, {{0, 32}, {192, 16}}, Reduction::Sum, type, at(0),
                  at(192), 4);
  b.allToAll(wire, {{0, 32}, {256, 32}}, type, at(0), at(256), 4);
  b.broadcast(wire, {{0, 32}, {320, 32}}, type, 1, at(0), at(320), 8);
  b.reduce(wire, {{0, 32}, {384, 32}}, Reduction::Max, type, 0, at(0), at(384),
           8);
  all.beginGroup(wire);
  all.send(wire, {{0, 32}}, type, (all.rank() + 1) % 4, at(0), 8);
  all.receive(wire, {{448, 32}}, type, (all.rank() + 3) % 4, at(448), 8);
  all.endGroup(wire);
  if (b.rank() == 0) {
    b.send(wire, {{0, 32}}, type, 1, at(0), 8);
    b.receive(wire, {{512, 32}}, type, 1, at(512), 8);
  } else {
    b.receive(wire, {{512, 32}}, type, 0, at(512), 8);
    b.send(wire, {{0, 32}}, type, 0, at(0), 8);
  }
  swapped.allGather(wire, {{0, 32}, {576, 128}}, type, at(0), at(576), 8);
  all.allReduce(wire, {{704, 32}}, Reduction::Max, type, at(704), at(704), 8);
  sumNarrow<BFloat16>(rank, ElementType::BFloat16, 768);
  sumNarrow<Float16>(rank, ElementType::Float16, 832);
}

constexpr Stage stages[] = {{{},
                             inputs,
                             outputs,
                             /*arenaBytes=*/896,
                             /*hostArenaBytes=*/0,
                             /*nvmeArenaBytes=*/0,
                             /*streamCount=*/2,
                             /*eventCount=*/1,
                             step}};
constexpr Program program = {"collectives", mesh, communicators, stages,
                             /*orderDigests=*/{}};

} // namespace

int main(int argc, char **argv) { return runProgram(program, argc, argv); }
