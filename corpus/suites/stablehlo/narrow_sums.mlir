module @jit_narrow_sums attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf16>, %arg1: tensor<64x64xbf16>) -> (tensor<64xf16> {jax.result_info = "result[0]"}, tensor<64xbf16> {jax.result_info = "result[1]"}, tensor<64x64xbf16> {jax.result_info = "result[2]"}, tensor<f16> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<64x64xf16>) -> tensor<64x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.convert %1 : (tensor<64xf32>) -> tensor<64xf16>
    %3 = stablehlo.convert %arg1 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
    %5 = stablehlo.convert %4 : (tensor<64xf32>) -> tensor<64xbf16>
    %6 = call @cumsum(%arg1) : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %7 = stablehlo.convert %arg0 : (tensor<64x64xf16>) -> tensor<64x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<4.096000e+03> : tensor<f32>
    %9 = stablehlo.divide %8, %cst_2 : tensor<f32>
    %10 = stablehlo.convert %9 : (tensor<f32>) -> tensor<f16>
    return %2, %5, %6, %10 : tensor<64xf16>, tensor<64xbf16>, tensor<64x64xbf16>, tensor<f16>
  }
  func.func private @cumsum(%arg0: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %0 = call @cumsum_0(%arg0) : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %0 : tensor<64x64xbf16>
  }
  func.func private @cumsum_0(%arg0: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<bf16>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[63, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 64, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<bf16>, %arg2: tensor<bf16>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<bf16>
      stablehlo.return %2 : tensor<bf16>
    }) : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64x64xbf16>
    return %1 : tensor<64x64xbf16>
  }
}
