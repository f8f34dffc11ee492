// A chain of elementwise operations on 2^17 elements.
func.func @main(%x: tensor<131072xf32>, %y: tensor<131072xf32>) -> tensor<131072xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<131072xf32>
  %1 = stablehlo.tanh %0 : tensor<131072xf32>
  %2 = stablehlo.add %1, %x : tensor<131072xf32>
  return %2 : tensor<131072xf32>
}
