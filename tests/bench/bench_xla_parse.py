# Peer: XLA's HLO text parser, as jaxlib carries it. Runs on `peers current`.
from jaxlib import _hlo

import peer

peer.run_peer(lambda text, path: lambda: _hlo.hlo_module_from_text(text))
