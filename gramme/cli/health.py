"""Whether one process serves: what watches over processes wants to know, and nothing more.

A router and a server by itself listen only once they can answer, so it is enough that they do. A node answers as soon as it
runs, and serves when it has its copy of the tables and knows who leads: that is as much as one node can tell.
"""

from __future__ import annotations

from gramme.cli.over_http import Unanswered, ask, host_and_port
from gramme.cli.status import META_GROUP
from gramme.codec.status import NodeStatus
from gramme.start import StartRefused


def fault_of(status: NodeStatus | str) -> str:
    """Pure: why a node that says this of itself, or says nothing for this reason, does not serve; empty if it does."""
    if isinstance(status, str):
        return status
    meta = next((one for one in status.replicas if one.group == META_GROUP), None)
    if meta is None:
        return "it is being given its copy of the tables"
    return "" if meta.leader else "it knows of no leader"


async def ask_over_http(url: str, timeout_s: float) -> str:
    """Why nothing of Gramme serves there; empty if something does. Raises StartRefused."""
    server = host_and_port(url)
    if server is None:
        raise StartRefused(f"an address is HOST:PORT or http://HOST:PORT, not {url!r}")
    try:
        answer = await ask(server, timeout_s)
    except Unanswered as error:
        return str(error)
    if answer.status == 200 and answer.body.startswith(b"healthy"):
        return ""
    return "what answers there is something else"
