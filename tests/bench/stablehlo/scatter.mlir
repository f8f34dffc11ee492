// 4096 rows of 32 elements added into a table.
func.func @main(%table: tensor<1024x32xf32>, %x: tensor<4096xf32>, %updates: tensor<4096x32xf32>) -> tensor<1024x32xf32> {
  %scale = stablehlo.constant dense<1023.0> : tensor<4096xf32>
  %a = stablehlo.abs %x : tensor<4096xf32>
  %b = stablehlo.multiply %a, %scale : tensor<4096xf32>
  %c = stablehlo.convert %b : (tensor<4096xf32>) -> tensor<4096xi32>
  %i = stablehlo.reshape %c : (tensor<4096xi32>) -> tensor<4096x1xi32>
  %0 = "stablehlo.scatter"(%table, %i, %updates) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %s = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1024x32xf32>, tensor<4096x1xi32>, tensor<4096x32xf32>) -> tensor<1024x32xf32>
  return %0 : tensor<1024x32xf32>
}
