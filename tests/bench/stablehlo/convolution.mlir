// A convolution with kernels of 3 x 3.
func.func @main(%input: tensor<2x24x24x8xf32>, %kernel: tensor<3x3x8x16xf32>) -> tensor<2x24x24x16xf32> {
  %0 = stablehlo.convolution(%input, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x24x24x8xf32>, tensor<3x3x8x16xf32>) -> tensor<2x24x24x16xf32>
  return %0 : tensor<2x24x24x16xf32>
}
