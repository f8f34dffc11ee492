# Peer of the accuracy table: XLA's own interpreter. Runs on `peers interpreter`.
from jaxlib import xla_client, xla_extension

import accuracy_peer

client = xla_client.make_interpreter_client()


def run(text, inputs):
    module = xla_extension.hlo_module_from_text(text)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    executable = client.compile(xla_extension.mlir.xla_computation_to_mlir_module(computation))
    result = executable.execute([client.buffer_from_pyval(array) for array in inputs])[0]
    return result._single_device_array_to_np_array()


accuracy_peer.run_peer(run)
