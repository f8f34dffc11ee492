# Peer of the accuracy table: StableHLO's reference interpreter. Runs on `peers current`.
from jax._src.interpreters.mlir import make_ir_context
from jaxlib import _hlo, _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import accuracy_peer

context = make_ir_context()  # knows all dialects that a module may use


def run(text, inputs):
    hlo = _hlo.hlo_module_from_text(text)
    computation = _hlo.XlaComputation(hlo.as_serialized_hlo_module_proto())
    mlir_text = _jax.mlir.xla_computation_to_mlir_module(computation)
    with context:
        module = ir.Module.parse(mlir_text)
        unsigned = [ir.IntegerType.get_unsigned(8 * array.dtype.itemsize) for array in inputs]
        values = [ir.DenseElementsAttr.get(array, type=type) for array, type in zip(inputs, unsigned)]
        return stablehlo.eval_module(module, values)[0]


accuracy_peer.run_peer(run)
