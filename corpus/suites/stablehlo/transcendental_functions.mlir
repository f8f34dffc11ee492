module @jit_transcendental_functions attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<64xf32> {jax.result_info = "result[0]"}, tensor<64xf32> {jax.result_info = "result[1]"}, tensor<64xf32> {jax.result_info = "result[2]"}, tensor<64xf32> {jax.result_info = "result[3]"}, tensor<64xf32> {jax.result_info = "result[4]"}, tensor<64xf32> {jax.result_info = "result[5]"}, tensor<64xf32> {jax.result_info = "result[6]"}, tensor<64xf32> {jax.result_info = "result[7]"}, tensor<64xf32> {jax.result_info = "result[8]"}, tensor<64xf32> {jax.result_info = "result[9]"}) {
    %0 = stablehlo.exponential %arg0 : tensor<64xf32>
    %1 = stablehlo.tanh %arg1 : tensor<64xf32>
    %2 = stablehlo.sine %arg0 : tensor<64xf32>
    %3 = stablehlo.cosine %arg1 : tensor<64xf32>
    %4 = stablehlo.add %2, %3 : tensor<64xf32>
    %5 = stablehlo.log_plus_one %arg0 : tensor<64xf32>
    %6 = chlo.erf %arg1 : tensor<64xf32> -> tensor<64xf32>
    %7 = stablehlo.atan2 %arg0, %arg1 : tensor<64xf32>
    %8 = stablehlo.cbrt %arg0 : tensor<64xf32>
    %9 = stablehlo.exponential_minus_one %arg1 : tensor<64xf32>
    %10 = stablehlo.negate %arg0 : tensor<64xf32>
    %11 = stablehlo.exponential %10 : tensor<64xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %13 = stablehlo.add %12, %11 : tensor<64xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %15 = stablehlo.divide %14, %13 : tensor<64xf32>
    %16 = chlo.sinh %arg1 : tensor<64xf32> -> tensor<64xf32>
    return %0, %1, %4, %5, %6, %7, %8, %9, %15, %16 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
}
