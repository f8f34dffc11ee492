module @jit_solve_positive_definite attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x6x6xf32>, %arg1: tensor<3x6x2xf32>) -> (tensor<3x6x6xf32> {jax.result_info = "result[0]"}, tensor<3x6x2xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<3x6x6xf32>) -> tensor<3x6x6xf32>
    %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x6x6xf32>, tensor<3x6x6xf32>) -> tensor<3x6x6xf32>
    %2 = stablehlo.iota dim = 0 : tensor<6x6xi32>
    %3 = stablehlo.iota dim = 1 : tensor<6x6xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x6xi32>
    %5 = stablehlo.add %2, %4 : tensor<6x6xi32>
    %6 = stablehlo.compare EQ, %5, %3, SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %7 = stablehlo.convert %6 : (tensor<6x6xi1>) -> tensor<6x6xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<6x6xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<6x6xf32>) -> tensor<1x6x6xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x6x6xf32>) -> tensor<3x6x6xf32>
    %12 = stablehlo.add %1, %11 : tensor<3x6x6xf32>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<3x6x6xf32>) -> tensor<3x6x6xf32>
    %14 = stablehlo.add %12, %13 : tensor<3x6x6xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x6x6xf32>
    %16 = stablehlo.divide %14, %15 : tensor<3x6x6xf32>
    %17 = stablehlo.cholesky %16, lower = true : tensor<3x6x6xf32>
    %18 = stablehlo.iota dim = 0 : tensor<6x6xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %19 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<6x6xi32>
    %20 = stablehlo.add %18, %19 : tensor<6x6xi32>
    %21 = stablehlo.iota dim = 1 : tensor<6x6xi32>
    %22 = stablehlo.compare GE, %20, %21, SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %23 = stablehlo.broadcast_in_dim %22, dims = [1, 2] : (tensor<6x6xi1>) -> tensor<3x6x6xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x6x6xf32>
    %25 = stablehlo.select %23, %17, %24 : tensor<3x6x6xi1>, tensor<3x6x6xf32>
    %26 = "stablehlo.triangular_solve"(%25, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x6x6xf32>, tensor<3x6x2xf32>) -> tensor<3x6x2xf32>
    return %25, %26 : tensor<3x6x6xf32>, tensor<3x6x2xf32>
  }
}
