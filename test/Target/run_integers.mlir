// Functions that few models use, bits and unsigned integers in emitted kernels, compared with NumPy.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/integers.py prepare %t
// RUN: parplan-opt %S/Inputs/integers.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --compile host --runtime %runtime
// RUN: %t/program --input x=%t/x.npy --input y=%t/y.npy --input a=%t/a.npy --input b=%t/b.npy --input c=%t/c.npy --input d=%t/d.npy --input i=%t/i.npy --output-dir %t/out
// RUN: %python %S/Inputs/integers.py compare %t | FileCheck %s

// CHECK: bits: equal
// CHECK-NEXT: double: equal
// CHECK-NEXT: flipped: equal
// CHECK-NEXT: floats: equal
// CHECK-NEXT: greatest: equal
// CHECK-NEXT: less: equal
// CHECK-NEXT: numbers: equal
// CHECK-NEXT: quotients: equal
// CHECK-NEXT: read: equal
// CHECK-NEXT: single: equal
// CHECK-NEXT: whole: equal
// CHECK-NEXT: wrapped: equal
