// Loops over panels, run on six ranks and compared with NumPy, their prediction and the formulas of SUMMA.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/panels.py prepare %t
// RUN: parplan-opt %S/Inputs/panels.mlir -parplan-insert-reshards -parplan-reshards-to-collectives -parplan-localize -parplan-verify-local -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --compile host --runtime %runtime
// RUN: %t/program --input x=%t/x.npy --input w=%t/w.npy --input g=%t/g.npy --input v=%t/v.npy --output-dir %t/out --metrics %t/metrics.json
// RUN: parplan-emit %t/exec.mlir --prediction > %t/prediction.json
// RUN: %python %S/Inputs/panels.py compare %t | FileCheck %s
// RUN: parplan-emit %t/exec.mlir | FileCheck %s --check-prefix=SOURCE

// CHECK: product: equal
// CHECK-NEXT: input_gradient: equal
// CHECK-NEXT: weight_gradient: equal
// CHECK-NEXT: stationary: equal
// CHECK-NEXT: turned: equal
// CHECK-NEXT: communication, order and memory are as predicted
// CHECK-NEXT: broadcast: as the formula
// CHECK-NEXT: reduce: as the formula

// A panel that is not contiguous is packed by its owner alone.
// SOURCE: if (communicator0.rank() == 1)
// SOURCE-NEXT: copy(compute, {{[{][{]}}0, 120}, {[[PANEL:[0-9]+]], 48}}, {{.*}}Shape{6, 2}, Shape{5, 1}, Shape{2, 1});
// SOURCE: communicator0.broadcast(communication, {{[{][{]}}[[PANEL]], 48}}, ElementType::Float32, 1, rank.at<char>([[PANEL]]), rank.at<char>([[PANEL]]), 12);
// SOURCE: matmul<float>({{.*}}, 0, {}, {}, {}, {}, true});
// One that is contiguous, of seven rows of W, is multiplied where its owner has it.
// SOURCE: matmul<float>({{.*}}rank.at<float>(communicator{{[01]}}.rank() == {{[01]}} ? {{[0-9]+}} : {{[0-9]+}}){{.*}});
