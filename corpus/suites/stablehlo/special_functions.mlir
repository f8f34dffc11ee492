module @jit_special_functions attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x7xf32>, %arg1: tensor<5x7xf32>) -> (tensor<5x7xf32> {jax.result_info = "result[0]"}, tensor<5x7xf32> {jax.result_info = "result[1]"}, tensor<5x7xf32> {jax.result_info = "result[2]"}, tensor<5x7xf32> {jax.result_info = "result[3]"}, tensor<5x7xf32> {jax.result_info = "result[4]"}, tensor<5x7xf32> {jax.result_info = "result[5]"}, tensor<5x7xf32> {jax.result_info = "result[6]"}, tensor<5x7xf32> {jax.result_info = "result[7]"}, tensor<5x7xf32> {jax.result_info = "result[8]"}, tensor<5x7xf32> {jax.result_info = "result[9]"}, tensor<5x7xf32> {jax.result_info = "result[10]"}, tensor<5x7xf32> {jax.result_info = "result[11]"}, tensor<5x7xf32> {jax.result_info = "result[12]"}, tensor<5x7xf32> {jax.result_info = "result[13]"}) {
    %0 = stablehlo.abs %arg0 : tensor<5x7xf32>
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x7xf32>
    %2 = stablehlo.add %0, %1 : tensor<5x7xf32>
    %cst_0 = stablehlo.constant dense<-0.899999976> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %3 = call @clip(%arg1, %cst_0, %cst_1) : (tensor<5x7xf32>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
    %4 = chlo.erf %3 : tensor<5x7xf32> -> tensor<5x7xf32>
    %5 = chlo.erfc %2 : tensor<5x7xf32> -> tensor<5x7xf32>
    %6 = chlo.erf_inv %3 : tensor<5x7xf32> -> tensor<5x7xf32>
    %7 = chlo.lgamma %2 : tensor<5x7xf32> -> tensor<5x7xf32>
    %8 = chlo.digamma %2 : tensor<5x7xf32> -> tensor<5x7xf32>
    %9 = chlo.bessel_i1e %2 : tensor<5x7xf32> -> tensor<5x7xf32>
    %10 = chlo.next_after %2, %3 : tensor<5x7xf32>, tensor<5x7xf32> -> tensor<5x7xf32>
    %11 = chlo.asin %3 : tensor<5x7xf32> -> tensor<5x7xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<5x7xf32>
    %13 = stablehlo.add %2, %12 : tensor<5x7xf32>
    %14 = chlo.acosh %13 : tensor<5x7xf32> -> tensor<5x7xf32>
    %15 = chlo.atanh %3 : tensor<5x7xf32> -> tensor<5x7xf32>
    %16 = chlo.sinh %3 : tensor<5x7xf32> -> tensor<5x7xf32>
    %17 = stablehlo.tan %3 : tensor<5x7xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<5x7xf32>
    %19 = stablehlo.add %2, %18 : tensor<5x7xf32>
    %20 = chlo.zeta %19, %2 : tensor<5x7xf32>, tensor<5x7xf32> -> tensor<5x7xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<5x7xf32>
    %22 = chlo.polygamma %21, %2 : tensor<5x7xf32>, tensor<5x7xf32> -> tensor<5x7xf32>
    return %4, %5, %6, %7, %8, %9, %10, %11, %14, %15, %16, %17, %20, %22 : tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>
  }
  func.func private @clip(%arg0: tensor<5x7xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<5x7xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<5x7xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<5x7xf32>
    %3 = stablehlo.convert %arg2 : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<5x7xf32>
    %5 = stablehlo.minimum %4, %2 : tensor<5x7xf32>
    return %5 : tensor<5x7xf32>
  }
}
