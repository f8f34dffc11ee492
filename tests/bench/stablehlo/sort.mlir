// Rows of 1024 elements sorted, with another array along.
func.func @main(%x: tensor<128x1024xf32>, %y: tensor<128x1024xf32>) -> (tensor<128x1024xf32>, tensor<128x1024xf32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<128x1024xf32>, tensor<128x1024xf32>) -> (tensor<128x1024xf32>, tensor<128x1024xf32>)
  return %0#0, %0#1 : tensor<128x1024xf32>, tensor<128x1024xf32>
}
