// RUN: parplan-opt %s -parplan-plan="gpus=2 cluster=dgx-h100" -verify-diagnostics

func.func @main(%x: tensor<2x6x4x8xf32> {parplan.name = "x"}, %s: tensor<4xf32> {parplan.name = "s"}) -> (tensor<2x6x4x8xf32> {parplan.name = "y"}) {
  // expected-error@below {{has a sink, which no plan knows: parplan-write-out-sinks comes before}}
  %y = parplan.attention %x, %x, %x sink %s : tensor<4xf32> scale 0.5 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  return %y : tensor<2x6x4x8xf32>
}
