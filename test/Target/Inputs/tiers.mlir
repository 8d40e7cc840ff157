// Values in every tier of memory: a weight of 1.4 MB on NVMe comes to the device in two tiles, one on the host as a
// whole; an activation waits on the host, and on NVMe; the host computes with it and with a number of the device.
parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "stored.weight" : tensor<600x600xf32> in "" at 0 length 1440000
parplan.initializer @w1 "hosted.weight" : tensor<600x8xf32> in "" at 1440000 length 19200

func.func @main(%x: tensor<3x600xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<6x600xf32>},
                %scale: tensor<f32> {parplan.name = "scale"})
    -> (tensor<3x8xf32> {parplan.name = "z", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<6x8xf32>},
        tensor<3x8xf32> {parplan.name = "e", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<6x8xf32>},
        tensor<3x8xf32> {parplan.name = "t", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<6x8xf32>}) {
  %stored = parplan.parameter @w0 {parplan.tier = "nvme"} : tensor<600x600xf32>
  %read = parplan.transfer %stored to "host" : tensor<600x600xf32>
  %w0 = parplan.transfer %read to "device" : tensor<600x600xf32>
  %hosted = parplan.parameter @w1 {parplan.tier = "host"} : tensor<600x8xf32>
  %w1 = parplan.transfer %hosted to "device" : tensor<600x8xf32>
  %h = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<3x600xf32>, tensor<600x600xf32>
  %y = parplan.matmul "mk,kn->mn" %h, %w1 : tensor<3x600xf32>, tensor<600x8xf32>
  %down = parplan.transfer %y to "host" : tensor<3x8xf32>
  %file = parplan.transfer %down to "nvme" : tensor<3x8xf32>
  %scaled = parplan.mul %down, %scale : tensor<3x8xf32>, tensor<f32>
  %e = parplan.tanh %scaled : tensor<3x8xf32>
  %again = parplan.transfer %file to "host" : tensor<3x8xf32>
  %up = parplan.transfer %again to "device" : tensor<3x8xf32>
  %z = parplan.softmax %up dim 1 : tensor<3x8xf32>
  %t0 = parplan.mul %up, %scale : tensor<3x8xf32>, tensor<f32>
  %t = parplan.softmax %t0 dim 1 : tensor<3x8xf32>
  return %z, %e, %t : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
}
