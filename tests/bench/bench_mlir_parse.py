# Peer: MLIR's own reader of text, as jaxlib carries it, verifier included. Runs on `peers current`.
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

import peer

context = make_ir_context()  # knows all dialects that a module may use


def prepare(text, path):
    context.allow_unregistered_dialects = True

    def run():
        with context:
            ir.Module.parse(text)
    return run


peer.run_peer(prepare)
