"""Streams of frames between the processes of a cluster; `api` is what they are to those who use them."""

import os

# gRPC would write a line to standard error whenever a peer goes or a stranger sends garbage. What matters is told to
# the owners of links. It reads this when it is imported, which nobody does before this package is.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
