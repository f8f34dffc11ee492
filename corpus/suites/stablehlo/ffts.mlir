module @jit_ffts attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x24xf32>, %arg1: tensor<2x8x6xcomplex<f32>>) -> (tensor<3x13xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<3x24xf32> {jax.result_info = "result[1]"}, tensor<2x8x6xcomplex<f32>> {jax.result_info = "result[2]"}, tensor<2x8x6xcomplex<f32>> {jax.result_info = "result[3]"}) {
    %0 = call @fft(%arg0) : (tensor<3x24xf32>) -> tensor<3x13xcomplex<f32>>
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<3x13xcomplex<f32>>
    %2 = stablehlo.multiply %0, %1 : tensor<3x13xcomplex<f32>>
    %3 = call @fft_0(%2) : (tensor<3x13xcomplex<f32>>) -> tensor<3x24xf32>
    %4 = call @fft_1(%arg1) : (tensor<2x8x6xcomplex<f32>>) -> tensor<2x8x6xcomplex<f32>>
    %5 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x8x6xcomplex<f32>>) -> tensor<2x6x8xcomplex<f32>>
    %6 = call @fft_2(%5) : (tensor<2x6x8xcomplex<f32>>) -> tensor<2x6x8xcomplex<f32>>
    %7 = stablehlo.transpose %6, dims = [0, 2, 1] : (tensor<2x6x8xcomplex<f32>>) -> tensor<2x8x6xcomplex<f32>>
    return %0, %3, %4, %7 : tensor<3x13xcomplex<f32>>, tensor<3x24xf32>, tensor<2x8x6xcomplex<f32>>, tensor<2x8x6xcomplex<f32>>
  }
  func.func private @fft(%arg0: tensor<3x24xf32>) -> tensor<3x13xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [24] : (tensor<3x24xf32>) -> tensor<3x13xcomplex<f32>>
    return %0 : tensor<3x13xcomplex<f32>>
  }
  func.func private @fft_0(%arg0: tensor<3x13xcomplex<f32>>) -> tensor<3x24xf32> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [24] : (tensor<3x13xcomplex<f32>>) -> tensor<3x24xf32>
    return %0 : tensor<3x24xf32>
  }
  func.func private @fft_1(%arg0: tensor<2x8x6xcomplex<f32>>) -> tensor<2x8x6xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = FFT, length = [8, 6] : (tensor<2x8x6xcomplex<f32>>) -> tensor<2x8x6xcomplex<f32>>
    return %0 : tensor<2x8x6xcomplex<f32>>
  }
  func.func private @fft_2(%arg0: tensor<2x6x8xcomplex<f32>>) -> tensor<2x6x8xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = IFFT, length = [8] : (tensor<2x6x8xcomplex<f32>>) -> tensor<2x6x8xcomplex<f32>>
    return %0 : tensor<2x6x8xcomplex<f32>>
  }
}
