module @jit_complex_arithmetic attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x5xcomplex<f32>>, %arg1: tensor<5x5xcomplex<f32>>) -> (tensor<5x5xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<5x5xcomplex<f32>> {jax.result_info = "result[1]"}, tensor<5x5xf32> {jax.result_info = "result[2]"}, tensor<5x5xcomplex<f32>> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x5xcomplex<f32>>, tensor<5x5xcomplex<f32>>) -> tensor<5x5xcomplex<f32>>
    %1 = stablehlo.exponential %arg0 : tensor<5x5xcomplex<f32>>
    %2 = stablehlo.real %arg1 : (tensor<5x5xcomplex<f32>>) -> tensor<5x5xf32>
    %3 = stablehlo.imag %arg1 : (tensor<5x5xcomplex<f32>>) -> tensor<5x5xf32>
    %4 = stablehlo.negate %3 : tensor<5x5xf32>
    %5 = stablehlo.complex %2, %4 : tensor<5x5xcomplex<f32>>
    %6 = stablehlo.multiply %1, %5 : tensor<5x5xcomplex<f32>>
    %7 = stablehlo.abs %arg0 : (tensor<5x5xcomplex<f32>>) -> tensor<5x5xf32>
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<5x5xcomplex<f32>>
    %9 = stablehlo.add %arg1, %8 : tensor<5x5xcomplex<f32>>
    %10 = stablehlo.divide %arg0, %9 : tensor<5x5xcomplex<f32>>
    return %0, %6, %7, %10 : tensor<5x5xcomplex<f32>>, tensor<5x5xcomplex<f32>>, tensor<5x5xf32>, tensor<5x5xcomplex<f32>>
  }
}
