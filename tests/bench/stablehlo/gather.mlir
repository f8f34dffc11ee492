// 4096 rows of 32 elements out of a table.
func.func @main(%table: tensor<1024x32xf32>, %x: tensor<4096xf32>) -> tensor<4096x32xf32> {
  %scale = stablehlo.constant dense<1023.0> : tensor<4096xf32>
  %a = stablehlo.abs %x : tensor<4096xf32>
  %b = stablehlo.multiply %a, %scale : tensor<4096xf32>
  %c = stablehlo.convert %b : (tensor<4096xf32>) -> tensor<4096xi32>
  %i = stablehlo.reshape %c : (tensor<4096xi32>) -> tensor<4096x1xi32>
  %0 = "stablehlo.gather"(%table, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 32>
  }> : (tensor<1024x32xf32>, tensor<4096x1xi32>) -> tensor<4096x32xf32>
  return %0 : tensor<4096x32xf32>
}
