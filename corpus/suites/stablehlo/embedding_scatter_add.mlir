module @jit_embedding_scatter_add attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<50x8xf32>, %arg1: tensor<4x6xi32>, %arg2: tensor<4x6x8xf32>) -> (tensor<4x6x8xf32> {jax.result_info = "result[0]"}, tensor<50x8xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<49> : tensor<i32>
    %0 = call @clip(%arg1, %c, %c_0) : (tensor<4x6xi32>, tensor<i32>, tensor<i32>) -> tensor<4x6xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4x6xi32>
    %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
    %c_2 = stablehlo.constant dense<50> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x6xi32>
    %4 = stablehlo.add %0, %3 : tensor<4x6xi32>
    %5 = stablehlo.select %2, %4, %0 : tensor<4x6xi1>, tensor<4x6xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
    %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<50x8xf32>, tensor<4x6x1xi32>) -> tensor<4x6x8xf32>
    %cst = stablehlo.constant dense<-1.000000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6x8xf32>
    %9 = stablehlo.multiply %8, %arg2 : tensor<4x6x8xf32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %10 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<4x6xi32>
    %11 = stablehlo.compare LT, %0, %10, SIGNED : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
    %c_4 = stablehlo.constant dense<50> : tensor<i32>
    %12 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4x6xi32>
    %13 = stablehlo.add %0, %12 : tensor<4x6xi32>
    %14 = stablehlo.select %11, %13, %0 : tensor<4x6xi1>, tensor<4x6xi32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
    %16 = "stablehlo.scatter"(%arg0, %15, %9) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %17 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %17 : tensor<f32>
    }) : (tensor<50x8xf32>, tensor<4x6x1xi32>, tensor<4x6x8xf32>) -> tensor<50x8xf32>
    return %7, %16 : tensor<4x6x8xf32>, tensor<50x8xf32>
  }
  func.func private @clip(%arg0: tensor<4x6xi32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<4x6xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4x6xi32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<4x6xi32>
    %3 = stablehlo.convert %arg2 : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<4x6xi32>
    %5 = stablehlo.minimum %4, %2 : tensor<4x6xi32>
    return %5 : tensor<4x6xi32>
  }
}
