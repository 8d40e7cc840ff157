// RUN: parplan-opt %s | parplan-opt | FileCheck %s
// RUN: parplan-opt %s -mlir-print-op-generic | parplan-opt | FileCheck %s

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64

// CHECK-LABEL: exec.program @step mesh <["dp0"=2 data]> arena 576 events 0 micro_batches 2
exec.program @step mesh <["dp0"=2 data]> arena 576 events 0 micro_batches 2 {
  // CHECK: exec.buffer input at 0 live -1 to 3 batched block <"x" dims [2 over <> stride 8, 8 over <"dp0"> stride 1]> : <2x4xf32>
  %x = exec.buffer input at 0 live -1 to 3 batched block <"x" dims [2 over <> stride 8, 8 over <"dp0"> stride 1]> : <2x4xf32>
  // CHECK: exec.buffer input at 64 live -1 to 3 role learning_rate block <"learning_rate" dims []> : <f32>
  %lr = exec.buffer input at 64 live -1 to 3 role learning_rate block <"learning_rate" dims []> : <f32>
  // CHECK: exec.buffer parameter at 128 live -1 to 3 trained bucket <32 storage <"dp0"> [0 : <"w" from @w0 at 0 dims [16 over <> stride 1]>, 16 : <"w" from @w0 at 0 dims [8 over <> stride 2]>]> : <16xf32>
  %w = exec.buffer parameter at 128 live -1 to 3 trained bucket <32 storage <"dp0"> [0 : <"w" from @w0 at 0 dims [16 over <> stride 1]>, 16 : <"w" from @w0 at 0 dims [8 over <> stride 2]>]> : <16xf32>
  // CHECK: exec.buffer state at 192 live -1 to 3 trained block <"w" slot "momentum_buffer" from @w0 at 0 dims [32 over <> stride 1] storage <"dp0">> : <16xf32>
  %m = exec.buffer state at 192 live -1 to 3 trained block <"w" slot "momentum_buffer" from @w0 at 0 dims [32 over <> stride 1] storage <"dp0">> : <16xf32>
  %g = exec.buffer activation at 256 live 0 to 2 : <16xf32>
  // CHECK: %[[N:.*]] = exec.buffer output at 512 live 1 to 3 role gradient_norm block
  %n = exec.buffer output at 512 live 1 to 3 role gradient_norm block <"gradient_norm" dims [8 over <> stride 1]> : <8xf64>
  // CHECK: %[[LAST:.*]] = exec.view %[[N]] at 56 : <8xf64> to <f64>
  %last = exec.view %n at 56 : <8xf64> to <f64>
  exec.zero %g : <16xf32>
  // CHECK: exec.square_sum %[[G:.*]] into %[[LAST]] : <16xf32>, <f64>
  exec.square_sum %g into %last : <16xf32>, <f64>
  // CHECK: exec.update momentum %[[W:.*]], %[[G]] states %[[M:.*]] learning_rate %[[LR:.*]] scale %[[LR]] into %[[W]], %[[M]] {
  exec.update momentum %w, %g states %m learning_rate %lr scale %lr into %w, %m {beta1 = 0.0, beta2 = 0.0, epsilon = 0.0, weight_decay = 0.1, momentum = 0.9} : !exec.buffer<16xf32>, !exec.buffer<16xf32>, !exec.buffer<16xf32>, !exec.buffer<f32>, !exec.buffer<f32>, !exec.buffer<16xf32>, !exec.buffer<16xf32>
}
