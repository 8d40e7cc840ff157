// The padding of a block is no maximum of negative integers in a program of four ranks either.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/maximum_over_padding.py prepare %t
// RUN: parplan-opt %S/Inputs/maximum_over_padding.mlir -parplan-insert-reshards -parplan-reshards-to-collectives -parplan-localize -parplan-verify-local -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --compile host --runtime %runtime
// RUN: %t/program --input words=%t/words.npy --input bytes=%t/bytes.npy --input longs=%t/longs.npy --input shorts=%t/shorts.npy --input unsigned=%t/unsigned.npy --output-dir %t/out
// RUN: %python %S/Inputs/maximum_over_padding.py compare %t | FileCheck %s

// CHECK: words: equal
// CHECK-NEXT: bytes: equal
// CHECK-NEXT: longs: equal
// CHECK-NEXT: shorts: equal
// CHECK-NEXT: unsigned: equal
