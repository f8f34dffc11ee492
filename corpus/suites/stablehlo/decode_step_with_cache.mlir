module @jit_decode_step_with_cache attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8x16xf32>, %arg1: tensor<4x32x16xf32>, %arg2: tensor<4x32x16xf32>, %arg3: tensor<4xi32>) -> (tensor<4x8x16xf32> {jax.result_info = "result[0]"}, tensor<4x32x16xf32> {jax.result_info = "result[1]"}, tensor<4x32x16xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.slice %arg0 [0:4, 0:1, 0:16] : (tensor<4x8x16xf32>) -> tensor<4x1x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %2 = stablehlo.compare LT, %arg3, %1, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %4 = stablehlo.add %arg3, %3 : tensor<4xi32>
    %5 = stablehlo.select %2, %4, %arg3 : tensor<4xi1>, tensor<4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %8 = stablehlo.concatenate %6, %7, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %c_2 = stablehlo.constant dense<[31, 0]> : tensor<2xi32>
    %c_3 = stablehlo.constant dense<2147483647> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.minimum %c_2, %9 : tensor<2xi32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<2xi32>) -> tensor<4x2xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %12 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
    %13 = stablehlo.clamp %12, %8, %11 : tensor<4x2xi32>
    %14 = "stablehlo.scatter"(%arg1, %13, %0) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      stablehlo.return %arg5 : tensor<f32>
    }) : (tensor<4x32x16xf32>, tensor<4x2xi32>, tensor<4x1x16xf32>) -> tensor<4x32x16xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x1x16xf32>
    %16 = stablehlo.multiply %0, %15 : tensor<4x1x16xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %17 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %18 = stablehlo.compare LT, %arg3, %17, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %c_6 = stablehlo.constant dense<32> : tensor<i32>
    %19 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %20 = stablehlo.add %arg3, %19 : tensor<4xi32>
    %21 = stablehlo.select %18, %20, %arg3 : tensor<4xi1>, tensor<4xi32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %23 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %24 = stablehlo.concatenate %22, %23, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %c_8 = stablehlo.constant dense<[31, 0]> : tensor<2xi32>
    %c_9 = stablehlo.constant dense<2147483647> : tensor<i32>
    %25 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %26 = stablehlo.minimum %c_8, %25 : tensor<2xi32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [1] : (tensor<2xi32>) -> tensor<4x2xi32>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %28 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
    %29 = stablehlo.clamp %28, %24, %27 : tensor<4x2xi32>
    %30 = "stablehlo.scatter"(%arg2, %29, %16) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      stablehlo.return %arg5 : tensor<f32>
    }) : (tensor<4x32x16xf32>, tensor<4x2xi32>, tensor<4x1x16xf32>) -> tensor<4x32x16xf32>
    %31 = stablehlo.dot_general %arg0, %14, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x32x16xf32>) -> tensor<4x8x32xf32>
    %cst_11 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %33 = stablehlo.multiply %31, %32 : tensor<4x8x32xf32>
    %34 = stablehlo.iota dim = 0 : tensor<32xi32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [2] : (tensor<32xi32>) -> tensor<1x1x32xi32>
    %36 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<4xi32>) -> tensor<4x1x1xi32>
    %37 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<1x1x32xi32>) -> tensor<4x1x32xi32>
    %38 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<4x1x1xi32>) -> tensor<4x1x32xi32>
    %39 = stablehlo.compare LE, %37, %38, SIGNED : (tensor<4x1x32xi32>, tensor<4x1x32xi32>) -> tensor<4x1x32xi1>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %40 = call @_where(%39, %33, %cst_12) : (tensor<4x1x32xi1>, tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8x32xf32>
    %cst_13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_13) applies stablehlo.maximum across dimensions = [2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
    %cst_14 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %43 = stablehlo.maximum %42, %41 : tensor<4x8xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %46 = stablehlo.subtract %40, %45 : tensor<4x8x32xf32>
    %47 = stablehlo.exponential %46 : tensor<4x8x32xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_15) applies stablehlo.add across dimensions = [2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %51 = stablehlo.divide %47, %50 : tensor<4x8x32xf32>
    %52 = stablehlo.dot_general %51, %30, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<4x32x16xf32>) -> tensor<4x8x16xf32>
    return %52, %14, %30 : tensor<4x8x16xf32>, tensor<4x32x16xf32>, tensor<4x32x16xf32>
  }
  func.func private @_where(%arg0: tensor<4x1x32xi1>, %arg1: tensor<4x8x32xf32>, %arg2: tensor<f32>) -> tensor<4x8x32xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<4x1x32xi1>) -> tensor<4x8x32xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x8x32xi1>, tensor<4x8x32xf32>
    return %3 : tensor<4x8x32xf32>
  }
}
