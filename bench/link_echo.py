"""A process that sends back each frame it gets, on the port it is given or any.

Prints its port, and ends when its standard input does.
"""

import asyncio
import sys

from gramme.links.api import Down, Events, Identity, Link
from gramme.links.listener import Listener
from gramme.links.security import Security
from gramme.links.services import PEER
from gramme.start import run

ECHO = Identity("bench", "echo", "node", 1)


class Echo:
    def __init__(self, link: Link) -> None:
        self._link = link

    def on_up(self, peer: Identity) -> None:
        pass

    def on_frame(self, frame: bytes) -> None:
        if not self._link.send(frame):
            self._link.close("more frames than fit into the queue")

    def on_idle(self) -> None:
        pass

    def on_down(self, down: Down) -> None:
        pass


def accept(link: Link, _: Identity) -> Events:
    return Echo(link)


async def main() -> None:
    listener = Listener(ECHO, Security(), {PEER: accept})
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    print(await listener.start("127.0.0.1", port), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await listener.close()


if __name__ == "__main__":
    run(main)
