// Functions that few models use, bits, and unsigned integers, on one rank.
parplan.mesh @mesh <["tp0"=1 tensor]>

func.func @main(
    %x: tensor<3x7xf32> {parplan.name = "x"}, %y: tensor<3x7xf64> {parplan.name = "y"},
    %a: tensor<5xui64> {parplan.name = "a"}, %b: tensor<5xui64> {parplan.name = "b"},
    %c: tensor<5xui32> {parplan.name = "c"}, %d: tensor<5xui16> {parplan.name = "d"},
    %i: tensor<5xi32> {parplan.name = "i"}
  ) -> (tensor<3x7xf32> {parplan.name = "single"}, tensor<3x7xf64> {parplan.name = "double"},
        tensor<5xui64> {parplan.name = "quotients"}, tensor<5xui64> {parplan.name = "wrapped"},
        tensor<5xi1> {parplan.name = "less"}, tensor<ui64> {parplan.name = "greatest"},
        tensor<5xui32> {parplan.name = "bits"}, tensor<5xf32> {parplan.name = "numbers"},
        tensor<5xui64> {parplan.name = "whole"}, tensor<2xui16> {parplan.name = "read"},
        tensor<5xi32> {parplan.name = "flipped"}, tensor<5xf32> {parplan.name = "floats"}) {
  // Within [-1, 1], and from 1 on.
  %half = parplan.constant dense<0.5> : tensor<f32>
  %small = parplan.mul %x, %half : tensor<3x7xf32>, tensor<f32>
  %asin = parplan.asin %small : tensor<3x7xf32>
  %acos = parplan.acos %small : tensor<3x7xf32>
  %atan = parplan.atan %x : tensor<3x7xf32>
  %atanh = parplan.atanh %small : tensor<3x7xf32>
  %f0 = parplan.mul %asin, %acos : tensor<3x7xf32>, tensor<3x7xf32>
  %f1 = parplan.add %f0, %atan : tensor<3x7xf32>, tensor<3x7xf32>
  %single = parplan.add %f1, %atanh : tensor<3x7xf32>, tensor<3x7xf32>
  %tan = parplan.tan %y : tensor<3x7xf64>
  %sinh = parplan.sinh %y : tensor<3x7xf64>
  %cosh = parplan.cosh %y : tensor<3x7xf64>
  %asinh = parplan.asinh %y : tensor<3x7xf64>
  %acosh = parplan.acosh %cosh : tensor<3x7xf64>
  %g0 = parplan.mul %tan, %sinh : tensor<3x7xf64>, tensor<3x7xf64>
  %g1 = parplan.mul %asinh, %acosh : tensor<3x7xf64>, tensor<3x7xf64>
  %double = parplan.add %g0, %g1 : tensor<3x7xf64>, tensor<3x7xf64>

  // Beyond the greatest number of 63 bits.
  %q = parplan.div %a, %b : tensor<5xui64>, tensor<5xui64>
  %r = parplan.mod %a, %b : tensor<5xui64>, tensor<5xui64>
  %quotients = parplan.max %q, %r : tensor<5xui64>, tensor<5xui64>
  %large = parplan.constant dense<18446744073709551615> : tensor<5xui64>
  %wrapped = parplan.sub %b, %large : tensor<5xui64>, tensor<5xui64>
  %less = parplan.compare lt %a, %b : tensor<5xui64>, tensor<5xui64>
  %greatest = parplan.reduce max %a dims [0] : tensor<5xui64>
  %e = parplan.not %c : tensor<5xui32>
  %three = parplan.constant dense<3> : tensor<ui32>
  %cubes = parplan.pow %c, %three : tensor<5xui32>, tensor<ui32>
  %and = parplan.and %e, %cubes : tensor<5xui32>, tensor<5xui32>
  %bits = parplan.xor %and, %c : tensor<5xui32>, tensor<5xui32>
  %numbers = parplan.cast %a : tensor<5xui64> to tensor<5xf32>
  %whole = parplan.cast %numbers : tensor<5xf32> to tensor<5xui64>
  %places = parplan.constant dense<[4, 1]> : tensor<2xi64>
  %read = parplan.gather %d, %places dim 0 : tensor<5xui16>, tensor<2xi64>
  %n = parplan.not %i : tensor<5xi32>
  %flipped = parplan.or %n, %i : tensor<5xi32>, tensor<5xi32>
  %floats = parplan.bitcast %c : tensor<5xui32> to tensor<5xf32>
  return %single, %double, %quotients, %wrapped, %less, %greatest, %bits, %numbers, %whole, %read, %flipped, %floats
    : tensor<3x7xf32>, tensor<3x7xf64>, tensor<5xui64>, tensor<5xui64>, tensor<5xi1>, tensor<ui64>, tensor<5xui32>, tensor<5xf32>,
      tensor<5xui64>, tensor<2xui16>, tensor<5xi32>, tensor<5xf32>
}
