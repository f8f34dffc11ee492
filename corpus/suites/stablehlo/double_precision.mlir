module @jit_double_precision attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32xf64>, %arg1: tensor<32xf64>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<32xf64> {jax.result_info = "result[1]"}, tensor<32xf64> {jax.result_info = "result[2]"}, tensor<32xf64> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<32xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<32xf64>, tensor<f64>) -> tensor<f64>
    %2 = stablehlo.exponential %arg0 : tensor<32xf64>
    %3 = stablehlo.subtract %2, %arg1 : tensor<32xf64>
    %4 = stablehlo.abs %arg0 : tensor<32xf64>
    %5 = stablehlo.sqrt %4 : tensor<32xf64>
    %cst_0 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<32xf64>
    %7 = stablehlo.divide %5, %6 : tensor<32xf64>
    %8 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<32xf64>) -> tensor<32x1xf64>
    %9 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<32xf64>) -> tensor<1x32xf64>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<32x1xf64>) -> tensor<32x32xf64>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x32xf64>) -> tensor<32x32xf64>
    %12 = stablehlo.multiply %10, %11 : tensor<32x32xf64>
    %13 = stablehlo.dot_general %12, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf64>, tensor<32xf64>) -> tensor<32xf64>
    return %1, %3, %7, %13 : tensor<f64>, tensor<32xf64>, tensor<32xf64>, tensor<32xf64>
  }
}
