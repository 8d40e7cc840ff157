// RUN: parplan-opt %S/Inputs/host_updates.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

// CHECK: {"hosted", ElementType::Float32, 0, 0, 0, dimensions{{[0-9]}}, {{[0-9]+}}, nullptr, {}, true, "exp_avg", true, 0, 0, MemoryTier::Host},
// CHECK: {"stored", ElementType::Float32, 0, 0, 0, dimensions{{[0-9]}}, {{[0-9]+}}, nullptr, {}, true, "exp_avg", true, 0, 0, MemoryTier::Nvme},
// The numbers of the schedule come to the host themselves.
// CHECK: {"learning_rate", {{.*}}, TensorRole::LearningRate, false, 0, OutputRole::Output, MemoryTier::Host},
// CHECK: {"gradient_norm", {{.*}}, TensorRole::Data, false, 0, OutputRole::GradientNorm, MemoryTier::Host},
// CHECK: host::squareSum<float>(processor, {{.*}}, rank.hostAt<float>({{[0-9]+}}), rank.hostAt<double>({{[0-9]+}}), 48);
// What the device computed comes down once.
// CHECK: transfer(download, {{[{]}}{{[0-9]+}}, 4}, {{[{]}}{{[0-9]+}}, 4, MemoryTier::Host});
// CHECK: transfer(download, {{[{]}}{{[0-9]+}}, 1}, {{[{]}}{{[0-9]+}}, 1, MemoryTier::Host});
// CHECK: host::optimizerUpdate<float>(processor, {{.*}}, 48);
// CHECK-NOT: transfer(download, {{[{]}}{{[0-9]+}}, 1}
// CHECK: host::optimizerUpdate<float>(processor, {{.*}}, 262144);
// CHECK: transfer(storage,
// CHECK: host::optimizerUpdate<float>(processor, {{.*}}, 137856);
