module @jit_conversions attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16xi32>, %arg1: tensor<16xui32>, %arg2: tensor<16xf32>) -> (tensor<16xf32> {jax.result_info = "result[0]"}, tensor<16xf16> {jax.result_info = "result[1]"}, tensor<16xi8> {jax.result_info = "result[2]"}, tensor<16xui8> {jax.result_info = "result[3]"}, tensor<16xf32> {jax.result_info = "result[4]"}, tensor<16xi8> {jax.result_info = "result[5]"}, tensor<16xi32> {jax.result_info = "result[6]"}, tensor<16xf8E4M3FN> {jax.result_info = "result[7]"}, tensor<16xf32> {jax.result_info = "result[8]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<16xi32>) -> tensor<16xf32>
    %1 = stablehlo.convert %arg1 : (tensor<16xui32>) -> tensor<16xf16>
    %cst = stablehlo.constant dense<3.000000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %3 = stablehlo.multiply %arg2, %2 : tensor<16xf32>
    %4 = stablehlo.convert %3 : (tensor<16xf32>) -> tensor<16xi8>
    %cst_0 = stablehlo.constant dense<3.000000e+02> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %6 = stablehlo.multiply %arg2, %5 : tensor<16xf32>
    %7 = stablehlo.convert %6 : (tensor<16xf32>) -> tensor<16xui8>
    %8 = stablehlo.convert %arg2 : (tensor<16xf32>) -> tensor<16xbf16>
    %9 = stablehlo.convert %8 : (tensor<16xbf16>) -> tensor<16xf32>
    %10 = stablehlo.convert %arg0 : (tensor<16xi32>) -> tensor<16xi8>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %12 = stablehlo.compare GT, %arg2, %11, FLOAT : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xi1>
    %13 = stablehlo.convert %12 : (tensor<16xi1>) -> tensor<16xi32>
    %14 = stablehlo.convert %arg2 : (tensor<16xf32>) -> tensor<16xf8E4M3FN>
    %15 = stablehlo.convert %arg2 : (tensor<16xf32>) -> tensor<16xf8E5M2>
    %16 = stablehlo.convert %15 : (tensor<16xf8E5M2>) -> tensor<16xf32>
    return %0, %1, %4, %7, %9, %10, %13, %14, %16 : tensor<16xf32>, tensor<16xf16>, tensor<16xi8>, tensor<16xui8>, tensor<16xf32>, tensor<16xi8>, tensor<16xi32>, tensor<16xf8E4M3FN>, tensor<16xf32>
  }
}
