module @jit_complex_and_bits attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6xcomplex<f32>>, %arg1: tensor<6x6xf32>) -> (tensor<6xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<6x4xcomplex<f32>> {jax.result_info = "result[1]"}, tensor<6x6xi32> {jax.result_info = "result[2]"}, tensor<6x6xui32> {jax.result_info = "result[3]"}, tensor<6xf32> {jax.result_info = "result[4]"}) {
    %0 = stablehlo.real %arg0 : (tensor<6xcomplex<f32>>) -> tensor<6xf32>
    %1 = stablehlo.imag %arg0 : (tensor<6xcomplex<f32>>) -> tensor<6xf32>
    %2 = stablehlo.negate %1 : tensor<6xf32>
    %3 = stablehlo.complex %0, %2 : tensor<6xcomplex<f32>>
    %4 = stablehlo.exponential %arg0 : tensor<6xcomplex<f32>>
    %5 = stablehlo.multiply %3, %4 : tensor<6xcomplex<f32>>
    %6 = call @fft(%arg1) : (tensor<6x6xf32>) -> tensor<6x4xcomplex<f32>>
    %7 = stablehlo.bitcast_convert %arg1 : (tensor<6x6xf32>) -> tensor<6x6xi32>
    %8 = stablehlo.bitcast_convert %arg1 : (tensor<6x6xf32>) -> tensor<6x6xui32>
    %9 = stablehlo.popcnt %8 : tensor<6x6xui32>
    %10 = stablehlo.abs %arg0 : (tensor<6xcomplex<f32>>) -> tensor<6xf32>
    return %5, %6, %7, %9, %10 : tensor<6xcomplex<f32>>, tensor<6x4xcomplex<f32>>, tensor<6x6xi32>, tensor<6x6xui32>, tensor<6xf32>
  }
  func.func private @fft(%arg0: tensor<6x6xf32>) -> tensor<6x4xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [6] : (tensor<6x6xf32>) -> tensor<6x4xcomplex<f32>>
    return %0 : tensor<6x4xcomplex<f32>>
  }
}
