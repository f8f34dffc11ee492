# Peer: XLA's own interpreter (its evaluator). Runs on `peers interpreter`.
from jaxlib import xla_client, xla_extension

import peer

client = xla_client.make_interpreter_client()


def prepare(text, path):
    module = xla_extension.hlo_module_from_text(text)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    executable = client.compile(xla_extension.mlir.xla_computation_to_mlir_module(computation))
    inputs = [client.buffer_from_pyval(array) for array in peer.f32_inputs(text)]
    return lambda: [result.block_until_ready() for result in executable.execute(inputs)]


peer.run_peer(prepare)
