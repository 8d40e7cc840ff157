// RUN: parplan-opt %S/Inputs/stages.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit -order | FileCheck %s

// CHECK: constexpr Axis mesh[] = {{[{][{]}}"pp0", 2}, {"tp0", 2}};
// One list of communicators, each with its stream.
// CHECK: constexpr CommunicatorEntry communicators[] = {
// CHECK-NEXT: {"pp0", axes0, 2},
// CHECK-NEXT: {"tp0", axes1, 1},
// CHECK-NEXT: };
// CHECK: namespace stage0 {
// CHECK-NEXT: constexpr Parameter parameters[] = {
// CHECK-NEXT: {"fc1.weight", ElementType::Float32, 0, 256, 0, dimensions0, {{[0-9]+}}},
// CHECK-NEXT: };
// CHECK-NEXT: constexpr Tensor inputs[] = {
// CHECK: constexpr Tensor outputs[] = {
// CHECK: } // namespace stage0
// CHECK: namespace stage1 {
// CHECK-NEXT: constexpr Parameter parameters[] = {
// CHECK-NEXT: {"fc1.weight", ElementType::Float32, 0, 256, 0, dimensions0, {{[0-9]+}}},
// CHECK-NOT: inputs[]
// CHECK: } // namespace stage1
// One digest per rank.
// CHECK: constexpr const char *orderDigests[] = {
// CHECK-COUNT-4: "{{[0-9a-f]+}}",
// CHECK-NEXT: };
// Both positions have the same activation: it is printed once.
// CHECK: struct Kernel0 {
// CHECK: geluErf
// CHECK: struct Kernel1 {
// CHECK-NOT: struct Kernel2
// CHECK: namespace stage0 {
// CHECK: void step(Rank &rank) {
// CHECK-NEXT: Stream &compute = rank.stream(0);
// CHECK-NEXT: Stream &pointToPoint = rank.stream(2);
// CHECK-NEXT: Communicator &communicator0 = rank.communicator(0);
// CHECK-NEXT: matmul<float>(compute,
// CHECK-NEXT: map<1>(compute, {{.*}}Kernel0{
// CHECK-NEXT: rank.record(0, compute);
// CHECK-NEXT: rank.wait(0, pointToPoint);
// CHECK-NEXT: communicator0.send(pointToPoint, {{[{][{]}}{{[0-9]+}}, 192}}, ElementType::Float32, 1, rank.at<char>({{[0-9]+}}), 48);
// CHECK-NEXT: communicator0.receive(pointToPoint, {{.*}}, ElementType::Float32, 1, rank.at<char>({{[0-9]+}}), 48);
// CHECK-NEXT: rank.record(0, pointToPoint);
// CHECK-NEXT: rank.wait(0, compute);
// CHECK-NEXT: map<1>(compute, {{.*}}Kernel1{
// CHECK: namespace stage1 {
// CHECK: Stream &communication = rank.stream(1);
// CHECK: Communicator &communicator0 = rank.communicator(0);
// CHECK-NEXT: Communicator &communicator1 = rank.communicator(1);
// CHECK: map<1>(compute, {{.*}}Kernel0{
// CHECK: communicator1.allReduce(communication,

// CHECK: constexpr Stage stages[] = {
// CHECK-NEXT: {stage0::parameters, stage0::inputs, stage0::outputs,
// CHECK-NEXT: /*arenaBytes=*/{{[0-9]+}}, /*hostArenaBytes=*/0, /*nvmeArenaBytes=*/0,
// CHECK-NEXT: /*streamCount=*/3, /*eventCount=*/1, stage0::step},
// CHECK-NEXT: {stage1::parameters, {}, stage1::outputs,
// CHECK: stages,
// CHECK-NEXT: orderDigests,
// CHECK-NEXT: nullptr,
// CHECK-NEXT: /*pipelineAxis=*/0};
