// The files of an output directory, with blanks in its name; two ranks then compute what one product by hand gives.
// RUN: rm -rf "%t dir" && mkdir -p "%t dir"
// RUN: %python %S/Inputs/directory.py prepare "%t dir"
// RUN: parplan-opt %S/Inputs/tensor_parallel_mlp.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o "%t dir/exec.mlir"
// RUN: parplan-emit "%t dir/exec.mlir" -o "%t dir" --model "%t dir/model.weights" --compile host --runtime %runtime
// RUN: "%t dir/program" --input x="%t dir/x.npy" --output-dir "%t dir/out" --metrics "%t dir/metrics.json"
// RUN: parplan-emit "%t dir/exec.mlir" --prediction > "%t dir/prediction.json"
// RUN: %python %S/Inputs/directory.py compare "%t dir" | FileCheck %s

// CHECK: outputs are equal
// CHECK: communication, order and memory are as predicted
// CHECK: the manifest describes the files
// CHECK: line {{[0-9]+}} does the work of ['node 1', 'node 2']
