// Values on the device, the host and NVMe; what moves is what was predicted.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/tiers.py prepare %t
// RUN: parplan-opt %S/Inputs/tiers.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --model %t/model.weights --compile host --runtime %runtime
// RUN: %t/program --input x=%t/x.npy --input scale=%t/scale.npy --output-dir %t/out --metrics %t/metrics.json
// RUN: parplan-emit %t/exec.mlir --prediction > %t/prediction.json
// RUN: %python %S/Inputs/tiers.py compare %t | FileCheck %s

// CHECK: e equal
// CHECK-NEXT: t equal
// CHECK-NEXT: z equal
// CHECK-NEXT: bytes between tiers are as predicted: 1459296 96 1440096 96
// CHECK-NEXT: peak_memory_bytes is as predicted
// CHECK-NEXT: host_peak_memory_bytes is as predicted
// CHECK-NEXT: nvme_peak_bytes is as predicted
