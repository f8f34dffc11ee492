module @jit_narrow_float_mix attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x32xf8E4M3FN>, %arg1: tensor<32x16xf8E5M2>, %arg2: tensor<16x16xbf16>, %arg3: tensor<16x16xf16>) -> (tensor<16x16xbf16> {jax.result_info = "result[0]"}, tensor<16x16xf16> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf8E4M3FN>, tensor<32x16xf8E5M2>) -> tensor<16x16xf32>
    %1 = stablehlo.convert %0 : (tensor<16x16xf32>) -> tensor<16x16xbf16>
    %2 = stablehlo.add %1, %arg2 : tensor<16x16xbf16>
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %4 = stablehlo.multiply %0, %3 : tensor<16x16xf32>
    %5 = stablehlo.convert %4 : (tensor<16x16xf32>) -> tensor<16x16xf16>
    %6 = stablehlo.multiply %5, %arg3 : tensor<16x16xf16>
    return %2, %6 : tensor<16x16xbf16>, tensor<16x16xf16>
  }
}
