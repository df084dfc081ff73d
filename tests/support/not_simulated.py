"""What the deterministic loop has not: threads, sockets, processes, signals. Touching any of it fails at once."""

from __future__ import annotations

import asyncio
from typing import Any


class NotSimulated(RuntimeError):
    """Code under simulation reached for something whose outcome no seed decides."""


class _Refused:
    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NotSimulated(f"the deterministic loop has no {self._name}")


class NotSimulatedLoop(asyncio.AbstractEventLoop):
    call_soon_threadsafe: Any = _Refused()
    run_in_executor: Any = _Refused()
    set_default_executor: Any = _Refused()

    getaddrinfo: Any = _Refused()
    getnameinfo: Any = _Refused()
    create_connection: Any = _Refused()
    create_server: Any = _Refused()
    create_unix_connection: Any = _Refused()
    create_unix_server: Any = _Refused()
    create_datagram_endpoint: Any = _Refused()
    connect_accepted_socket: Any = _Refused()
    start_tls: Any = _Refused()
    sendfile: Any = _Refused()
    sock_recv: Any = _Refused()
    sock_recv_into: Any = _Refused()
    sock_recvfrom: Any = _Refused()
    sock_recvfrom_into: Any = _Refused()
    sock_sendall: Any = _Refused()
    sock_sendto: Any = _Refused()
    sock_sendfile: Any = _Refused()
    sock_connect: Any = _Refused()
    sock_accept: Any = _Refused()
    add_reader: Any = _Refused()
    remove_reader: Any = _Refused()
    add_writer: Any = _Refused()
    remove_writer: Any = _Refused()

    connect_read_pipe: Any = _Refused()
    connect_write_pipe: Any = _Refused()
    subprocess_shell: Any = _Refused()
    subprocess_exec: Any = _Refused()
    add_signal_handler: Any = _Refused()
    remove_signal_handler: Any = _Refused()

    # Whoever replaces these would change the order of tasks, or hide a failure.
    set_task_factory: Any = _Refused()
    set_exception_handler: Any = _Refused()
