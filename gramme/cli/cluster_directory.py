"""The directory of a cluster on one machine: what was decided once, and where its processes find and leave things.

    lock           held while a `gramme cluster` runs on the directory
    secret         the cluster's secret, which only its owner may read
    members.json   the addresses of the nodes, in the order of their numbers
    cluster.json   the processes of the newest run, a list of `Part`
    node-1, ...    the data of each node
    node-1.log ... what each process says

`members.json` is written last, so without it nothing has run here yet, and what there is of a beginning is used.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from gramme.cli.ports import LOOPBACK, NoFreePort, free_ports
from gramme.start import StartRefused

NODES_DEFAULT = 3
SECRET_BYTES = 32

_LOCK = "lock"
_SECRET = "secret"
_MEMBERS = "members.json"
_PARTS = "cluster.json"
_SCRATCH = ".new"
_BEGINNING = frozenset({_LOCK, _SECRET, _SECRET + _SCRATCH, _MEMBERS + _SCRATCH, "lost+found"})
# What a node or a server by itself writes first into a directory.
_IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class Part:
    """A process of the cluster. Its `command` starts it again; `pid` is 0 once it has ended.

    `address` is where a node or a router listens, `data` the directory of a node.
    """

    name: str
    role: str
    pid: int
    address: str
    data: str
    command: list[str]


class ClusterDirectory:
    """Made by `open`, which takes the lock, or by `read`, which only looks."""

    def __init__(self, path: Path, members: list[str], lock: int | None = None) -> None:
        self.path = path
        self.members = members
        self._lock = lock

    @classmethod
    def read(cls, path: Path) -> ClusterDirectory:
        """Raises StartRefused if there is no cluster."""
        members = _read_members(path)
        if members is None:
            raise StartRefused(f"{path} is no directory of gramme cluster")
        return cls(path, members)

    @classmethod
    def open(cls, path: Path, nodes: int | None) -> ClusterDirectory:
        """Lock the directory; a new one becomes that of a cluster of so many nodes. Raises StartRefused."""
        path = path.absolute()
        try:
            path.mkdir(parents=True, exist_ok=True)
            _check_contents(path)
            lock = _take_lock(path)
            try:
                return cls(path, _settle_members(path, nodes), lock)
            except BaseException:
                os.close(lock)
                raise
        except OSError as error:
            raise StartRefused(f"cannot use directory {path}: {error.strerror}") from error

    @property
    def secret_file(self) -> Path:
        return self.path / _SECRET

    def data_of(self, name: str) -> Path:
        return self.path / name

    def log_of(self, name: str) -> Path:
        return self.path / f"{name}.log"

    def remember(self, parts: list[Part]) -> None:
        """Write down what runs."""
        content = json.dumps([asdict(part) for part in parts], indent=2)
        _write(self.path / _PARTS, content + "\n")

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)


def _check_contents(path: Path) -> None:
    names = {entry.name for entry in path.iterdir()}
    if _MEMBERS in names or names <= _BEGINNING:
        return
    if _IDENTITY in names:
        raise StartRefused(
            f"{path} is the data of gramme serve or of one node; choose another directory"
        )
    raise StartRefused(
        f"{path} is not empty and is no directory of gramme cluster; choose another or empty it"
    )


def _take_lock(path: Path) -> int:
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StartRefused(f"another gramme cluster runs on {path}") from None
    return lock


def _settle_members(path: Path, nodes: int | None) -> list[str]:
    known = _read_members(path)
    if known is None:
        if not (path / _SECRET).exists():
            _write(path / _SECRET, secrets.token_hex(SECRET_BYTES) + "\n", mode=0o600)
        try:
            ports = free_ports(nodes or NODES_DEFAULT)
        except NoFreePort as error:
            raise StartRefused(str(error)) from error
        known = [f"{LOOPBACK}:{port}" for port in ports]
        _write(path / _MEMBERS, json.dumps(known) + "\n")
    if nodes not in (None, len(known)):
        raise StartRefused(
            f"{path} has a cluster of {len(known)} nodes, which cannot become {nodes}"
        )
    if not (path / _SECRET).exists():
        raise StartRefused(f"{path / _SECRET} is gone, and without it the data cannot be used")
    return known


def _read_members(path: Path) -> list[str] | None:
    file = path / _MEMBERS
    try:
        members = json.loads(file.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StartRefused(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise StartRefused(f"{file} is damaged: {error}") from error
    if not isinstance(members, list) or not all(isinstance(one, str) for one in members):
        raise StartRefused(f"{file} is damaged: it must be a list of addresses")
    return members


def _write(path: Path, content: str, mode: int = 0o644) -> None:
    """Write a file as a whole, or not at all."""
    scratch = path.with_name(path.name + _SCRATCH)
    scratch.unlink(missing_ok=True)
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    scratch.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
