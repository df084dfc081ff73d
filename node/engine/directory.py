"""A data directory: whose it is, who is using it, and which format it has.

    identity     JSON: the disk format, the directory's random id, the seed of its hash
    lock         held while a process uses the directory
    flushed      how far the log was once flushed (see sequence.py)
    clock        what a virtual clock was last moved to, if one was
    db/          RocksDB
    in-memory    only where the directory is to vanish with its server

The identity is written once, whole and synced, before anything else, so a directory without one holds nothing of ours.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec

from gramme.node.engine.keyspace import DISK_FORMAT

_IDENTITY = "identity"
_SCRATCH = "identity.new"
_LOCK = "lock"
_CLOCK = "clock"
_CLOCK_SCRATCH = "clock.new"
# In a directory that is to vanish with its server. Others are never removed.
IN_MEMORY_MARK = "in-memory"
# What a directory without an identity may hold: an unfinished creation, or a file system's own.
_HARMLESS = frozenset({_LOCK, _SCRATCH, IN_MEMORY_MARK, "lost+found"})
_SEED_BYTES = 16


class DirectoryRefused(Exception):
    """The directory cannot be used; the message is one line for a person."""


class Identity(msgspec.Struct, frozen=True):
    format: int
    id: str
    seed: str


class DataDirectory:
    """Made by `DataDirectory.open`; holds the lock until `close`."""

    def __init__(self, path: Path, lock: int, identity: Identity) -> None:
        self.path = path
        self.id = identity.id
        self.seed = bytes.fromhex(identity.seed)
        self._lock = lock

    @classmethod
    def open(cls, path: Path, seed: bytes | None = None) -> DataDirectory:
        """Lock the directory and read its identity, giving it one if it is new. Raises DirectoryRefused.

        `seed` is that of the cluster the directory is for; without one it is a cluster of its own.
        """
        try:
            missing = [folder for folder in (path, *path.parents) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
            lock = _lock(path)
        except OSError as error:
            raise DirectoryRefused(f"cannot use data directory {path}: {error.strerror}") from error
        try:
            directory = cls(path, lock, _read(path) or _create(path, seed))
            directory._settle_names(missing)
            return directory
        except OSError as error:
            os.close(lock)
            raise DirectoryRefused(f"cannot use data directory {path}: {error.strerror}") from error
        except DirectoryRefused:
            os.close(lock)
            raise

    @property
    def database(self) -> Path:
        return self.path / "db"

    @property
    def flushed(self) -> Path:
        return self.path / "flushed"

    def moved_to_ms(self) -> int:
        """What a virtual clock was last moved to here; 0 if none was."""
        try:
            return int((self.path / _CLOCK).read_bytes())
        except (FileNotFoundError, ValueError):
            # It is not synced: a move must not hold up those who are served. Power loss may leave an empty file.
            return 0

    def keep_moved_to(self, now_ms: int) -> None:
        scratch = self.path / _CLOCK_SCRATCH
        scratch.write_text(str(now_ms))
        scratch.replace(self.path / _CLOCK)

    def size_bytes(self) -> int:
        """What the database has on disk, log included."""
        total = 0
        for entry in os.scandir(self.database):
            # A compaction may remove a file while we look.
            with suppress(FileNotFoundError):
                total += entry.stat().st_size
        return total

    def close(self) -> None:
        os.close(self._lock)

    def _settle_names(self, made: list[Path]) -> None:
        """Make durable that all this exists. RocksDB syncs what is in its folder, but not the folder's own name."""
        self.database.mkdir(exist_ok=True)
        self.flushed.touch()
        sync_directory(self.path)
        # The directory may have been made, and its name not synced, by a process that was killed.
        for folder in made or [self.path]:
            with suppress(PermissionError):
                sync_directory(folder.absolute().parent)


def _lock(path: Path) -> int:
    names = {entry.name for entry in path.iterdir()}
    if _IDENTITY not in names and not names <= _HARMLESS:
        raise DirectoryRefused(
            f"{path} is not empty and is no data directory of Gramme; choose another or empty it"
        )
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise DirectoryRefused(f"data directory {path} is in use by another process") from None
    return lock


def _read(path: Path) -> Identity | None:
    try:
        raw = (path / _IDENTITY).read_bytes()
    except FileNotFoundError:
        return None
    try:
        identity = msgspec.json.decode(raw, type=Identity)
    except msgspec.DecodeError as error:
        raise DirectoryRefused(f"{path / _IDENTITY} is damaged: {error}") from error
    if identity.format > DISK_FORMAT:
        raise DirectoryRefused(
            f"{path} has disk format {identity.format}, and this version of Gramme reads up to "
            f"{DISK_FORMAT}; use a newer version"
        )
    return identity


def _create(path: Path, seed: bytes | None) -> Identity:
    seed = seed or secrets.token_bytes(_SEED_BYTES)
    identity = Identity(DISK_FORMAT, secrets.token_hex(16), seed.hex())
    scratch = path / _SCRATCH
    with scratch.open("wb") as file:
        file.write(msgspec.json.encode(identity))
        file.flush()
        os.fsync(file.fileno())
    scratch.rename(path / _IDENTITY)
    sync_directory(path)
    return identity


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
