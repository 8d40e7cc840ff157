// RUN: parplan-opt %S/Inputs/tiers.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

// CHECK: constexpr Parameter parameters[] = {
// CHECK-NEXT: {"stored.weight", ElementType::Float32, 0, 1440000, 0, dimensions{{[0-9]}}, 0, nullptr, {}, false, nullptr, false, 0, 0, MemoryTier::Nvme},
// CHECK-NEXT: {"hosted.weight", ElementType::Float32, 1440000, 19200, 0, dimensions{{[0-9]}}, {{[0-9]+}}, nullptr, {}, false, nullptr, false, 0, 0, MemoryTier::Host},
// The number that host and device read is there twice.
// CHECK: constexpr Tensor inputs[] = {
// CHECK-NEXT: {"x",
// CHECK-NEXT: {"scale", ElementType::Float32, {}, {{[0-9]+}}},
// CHECK-NEXT: {"scale", ElementType::Float32, {}, {{[0-9]+}}, TensorRole::Data, false, 0, OutputRole::Output, MemoryTier::Host},
// CHECK: {"e", ElementType::Float32, dimensions{{[0-9]}}, {{[0-9]+}}, TensorRole::Data, false, 0, OutputRole::Output, MemoryTier::Host},
// CHECK: Stream &compute = rank.stream(0);
// CHECK-NEXT: Stream &download = rank.stream(3);
// CHECK-NEXT: Stream &upload = rank.stream(4);
// CHECK-NEXT: Stream &processor = rank.stream(5);
// CHECK-NEXT: Stream &storage = rank.stream(6);
// Two tiles through two slots.
// CHECK: transfer(storage, {0, 1048576, MemoryTier::Nvme}, {[[SLOT:[0-9]+]], 1048576, MemoryTier::Host});
// CHECK: rank.record([[EVENT:[0-9]+]], storage);
// CHECK: rank.wait([[EVENT]], upload);
// CHECK-NEXT: transfer(upload, {[[SLOT]], 1048576, MemoryTier::Host}, {{[{]}}[[DEVICE:[0-9]+]], 1048576});
// CHECK: transfer(storage, {1048576, 391424, MemoryTier::Nvme}, {{[{]}}{{[0-9]+}}, 391424, MemoryTier::Host});
// CHECK: transfer(download, {{[{]}}{{[0-9]+}}, 96}, {{[{]}}[[DOWN:[0-9]+]], 96, MemoryTier::Host});
// CHECK: host::map<1>(processor, {{[{][{]}}[[DOWN]], 96, MemoryTier::Host}, {{.*}}Kernel{{[0-9]}}{rank.hostAt<float>([[DOWN]]),
// CHECK: /*hostArenaBytes=*/{{[1-9][0-9]+}}, /*nvmeArenaBytes=*/{{[1-9][0-9]+}},
// CHECK-NEXT: /*streamCount=*/7,
