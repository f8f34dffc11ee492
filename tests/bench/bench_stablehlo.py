# Peer: StableHLO's reference interpreter. Runs on `peers current`.
import re

from jax._src.interpreters.mlir import make_ir_context
from jaxlib import _hlo, _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import peer

context = make_ir_context()  # knows all dialects that a module may use


def prepare(text, path):
    hlo = _hlo.hlo_module_from_text(text)
    computation = _hlo.XlaComputation(hlo.as_serialized_hlo_module_proto())
    mlir_text = _jax.mlir.xla_computation_to_mlir_module(computation)
    # It aborts on the short form of a product.
    mlir_text = re.sub(r"stablehlo\.dot (%\S+), (%\S+), precision",
                       r"stablehlo.dot_general \1, \2, contracting_dims = [1] x [0], precision", mlir_text)
    with context:
        module = ir.Module.parse(mlir_text)
        inputs = [ir.DenseElementsAttr.get(array) for array in peer.f32_inputs(text)]
    return lambda: stablehlo.eval_module(module, inputs)


peer.run_peer(prepare)
