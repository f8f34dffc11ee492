module @jit_integer_and_bit_tricks attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<40xui32>, %arg1: tensor<40xi32>, %arg2: tensor<40xi8>, %arg3: tensor<40xui8>) -> (tensor<40xui32> {jax.result_info = "result[0]"}, tensor<40xui32> {jax.result_info = "result[1]"}, tensor<40xui32> {jax.result_info = "result[2]"}, tensor<40xi32> {jax.result_info = "result[3]"}, tensor<40xi32> {jax.result_info = "result[4]"}, tensor<40xi8> {jax.result_info = "result[5]"}, tensor<40xi8> {jax.result_info = "result[6]"}, tensor<40xui8> {jax.result_info = "result[7]"}, tensor<40xi32> {jax.result_info = "result[8]"}, tensor<40xi32> {jax.result_info = "result[9]"}, tensor<40xui32> {jax.result_info = "result[10]"}, tensor<40xi1> {jax.result_info = "result[11]"}, tensor<40xi32> {jax.result_info = "result[12]"}) {
    %0 = stablehlo.popcnt %arg0 : tensor<40xui32>
    %1 = stablehlo.count_leading_zeros %arg0 : tensor<40xui32>
    %c = stablehlo.constant dense<7> : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<40xui32>
    %3 = stablehlo.shift_left %arg0, %2 : tensor<40xui32>
    %c_0 = stablehlo.constant dense<3> : tensor<ui32>
    %4 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui32>) -> tensor<40xui32>
    %5 = stablehlo.shift_right_logical %arg0, %4 : tensor<40xui32>
    %6 = stablehlo.xor %3, %5 : tensor<40xui32>
    %c_1 = stablehlo.constant dense<5> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<40xi32>
    %8 = stablehlo.shift_right_arithmetic %arg1, %7 : tensor<40xi32>
    %c_2 = stablehlo.constant dense<5> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<40xi32>
    %10 = stablehlo.shift_right_logical %arg1, %9 : tensor<40xi32>
    %11 = stablehlo.multiply %arg2, %arg2 : tensor<40xi8>
    %12 = stablehlo.abs %arg2 : tensor<40xi8>
    %c_3 = stablehlo.constant dense<7> : tensor<ui8>
    %13 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui8>) -> tensor<40xui8>
    %14 = stablehlo.subtract %arg3, %13 : tensor<40xui8>
    %c_4 = stablehlo.constant dense<7> : tensor<i32>
    %15 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<40xi32>
    %16 = stablehlo.remainder %arg1, %15 : tensor<40xi32>
    %c_5 = stablehlo.constant dense<-3> : tensor<i32>
    %17 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<40xi32>
    %18 = stablehlo.divide %arg1, %17 : tensor<40xi32>
    %19 = stablehlo.not %arg0 : tensor<40xui32>
    %c_6 = stablehlo.constant dense<16711935> : tensor<ui32>
    %20 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<ui32>) -> tensor<40xui32>
    %21 = stablehlo.and %19, %20 : tensor<40xui32>
    %22 = stablehlo.bitcast_convert %arg0 : (tensor<40xui32>) -> tensor<40xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<40xf32>
    %24 = stablehlo.compare EQ, %22, %23, FLOAT : (tensor<40xf32>, tensor<40xf32>) -> tensor<40xi1>
    %25 = stablehlo.sign %arg1 : tensor<40xi32>
    return %0, %1, %6, %8, %10, %11, %12, %14, %16, %18, %21, %24, %25 : tensor<40xui32>, tensor<40xui32>, tensor<40xui32>, tensor<40xi32>, tensor<40xi32>, tensor<40xi8>, tensor<40xi8>, tensor<40xui8>, tensor<40xi32>, tensor<40xi32>, tensor<40xui32>, tensor<40xi1>, tensor<40xi32>
  }
}
