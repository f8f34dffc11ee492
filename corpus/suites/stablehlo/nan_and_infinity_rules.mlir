module @jit_nan_and_infinity_rules attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x10xf32>, %arg1: tensor<10xf32>) -> (tensor<3x10xf32> {jax.result_info = "result[0]"}, tensor<3x10xi1> {jax.result_info = "result[1]"}, tensor<3x10xf32> {jax.result_info = "result[2]"}, tensor<3x10xi1> {jax.result_info = "result[3]"}, tensor<10xf32> {jax.result_info = "result[4]"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x10xf32>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %cst_0 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x10xf32>
    %3 = stablehlo.compare LT, %arg0, %2, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %cst_1 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %4 = call @_where(%3, %cst_1, %arg0) : (tensor<3x10xi1>, tensor<f32>, tensor<3x10xf32>) -> tensor<3x10xf32>
    %cst_2 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %5 = call @_where(%1, %cst_2, %4) : (tensor<3x10xi1>, tensor<f32>, tensor<3x10xf32>) -> tensor<3x10xf32>
    %6 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<3x10xf32>
    %8 = stablehlo.maximum %5, %7 : tensor<3x10xf32>
    %9 = stablehlo.compare NE, %5, %5, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %10 = call @nan_to_num(%5) : (tensor<3x10xf32>) -> tensor<3x10xf32>
    %11 = stablehlo.is_finite %5 : (tensor<3x10xf32>) -> tensor<3x10xi1>
    %12 = call @nanmax(%5) : (tensor<3x10xf32>) -> tensor<10xf32>
    return %8, %9, %10, %11, %12 : tensor<3x10xf32>, tensor<3x10xi1>, tensor<3x10xf32>, tensor<3x10xi1>, tensor<10xf32>
  }
  func.func private @_where(%arg0: tensor<3x10xi1>, %arg1: tensor<f32>, %arg2: tensor<3x10xf32>) -> tensor<3x10xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x10xf32>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<3x10xi1>, tensor<3x10xf32>
    return %2 : tensor<3x10xf32>
  }
  func.func private @nan_to_num(%arg0: tensor<3x10xf32>) -> tensor<3x10xf32> {
    %0 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = call @_where_0(%0, %cst, %arg0) : (tensor<3x10xi1>, tensor<f32>, tensor<3x10xf32>) -> tensor<3x10xf32>
    %cst_0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x10xf32>
    %3 = stablehlo.compare EQ, %1, %2, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %cst_1 = stablehlo.constant dense<3.40282347E+38> : tensor<f32>
    %4 = call @_where_0(%3, %cst_1, %1) : (tensor<3x10xi1>, tensor<f32>, tensor<3x10xf32>) -> tensor<3x10xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x10xf32>
    %6 = stablehlo.compare EQ, %4, %5, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %cst_3 = stablehlo.constant dense<-3.40282347E+38> : tensor<f32>
    %7 = call @_where_0(%6, %cst_3, %4) : (tensor<3x10xi1>, tensor<f32>, tensor<3x10xf32>) -> tensor<3x10xf32>
    return %7 : tensor<3x10xf32>
  }
  func.func private @_where_0(%arg0: tensor<3x10xi1>, %arg1: tensor<f32>, %arg2: tensor<3x10xf32>) -> tensor<3x10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3x10xf32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<3x10xi1>, tensor<3x10xf32>
    return %1 : tensor<3x10xf32>
  }
  func.func private @nanmax(%arg0: tensor<3x10xf32>) -> tensor<10xf32> {
    %0 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = call @_where_0(%0, %cst, %arg0) : (tensor<3x10xi1>, tensor<f32>, tensor<3x10xf32>) -> tensor<3x10xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst_0) applies stablehlo.maximum across dimensions = [0] : (tensor<3x10xf32>, tensor<f32>) -> tensor<10xf32>
    %3 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x10xi1>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %4 = stablehlo.reduce(%3 init: %c) applies stablehlo.and across dimensions = [0] : (tensor<3x10xi1>, tensor<i1>) -> tensor<10xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %5 = call @_where_1(%4, %cst_1, %2) : (tensor<10xi1>, tensor<f32>, tensor<10xf32>) -> tensor<10xf32>
    return %5 : tensor<10xf32>
  }
  func.func private @_where_1(%arg0: tensor<10xi1>, %arg1: tensor<f32>, %arg2: tensor<10xf32>) -> tensor<10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<10xi1>, tensor<10xf32>
    return %1 : tensor<10xf32>
  }
}
