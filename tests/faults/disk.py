"""Pure: what a disk may hold after the power failed, from the recorded events.

A file is what was synced (`durable`) and the changes since (`pending`); a directory is the same for names. A
sync settles what was pending when it *began*, once it *ended*: of a file its data and size, of a directory its
entries. Syncing a file says nothing about its name. Closing settles nothing. After a crash any of the pending
changes may be there, wholly, partly or not at all; `images.py` picks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tests.faults.recorder import CREATED, DIRECTORY, TRUNCATED, Event, Kind


class Unsupported(Exception):
    """The recorded process did something that the replay cannot follow."""


@dataclass(frozen=True, slots=True)
class Write:
    position: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Resize:
    """To exactly `size`, or to `size` at least."""

    position: int
    size: int
    grow_only: bool


@dataclass(frozen=True, slots=True)
class Renaming:
    """Names that change together: None for one that goes away."""

    position: int
    names: dict[str, File | Directory | None]


def apply(content: bytearray, change: Write | Resize) -> None:
    if isinstance(change, Write):
        if change.offset > len(content):
            content.extend(bytes(change.offset - len(content)))
        content[change.offset : change.offset + len(change.data)] = change.data
    elif change.size > len(content):
        content.extend(bytes(change.size - len(content)))
    elif not change.grow_only:
        del content[change.size :]


@dataclass(slots=True, eq=False)
class File:
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Write | Resize] = field(default_factory=list)

    def settle(self, position: int) -> None:
        for change in self.pending:
            if change.position <= position:
                apply(self.durable, change)
        self.pending = [change for change in self.pending if change.position > position]

    def content(self, survivors: list[Write | Resize]) -> bytes:
        content = bytearray(self.durable)
        for change in survivors:
            apply(content, change)
        return bytes(content)


@dataclass(slots=True, eq=False)
class Directory:
    durable: dict[str, File | Directory] = field(default_factory=dict)
    pending: list[Renaming] = field(default_factory=list)
    # What a running process sees.
    live: dict[str, File | Directory] = field(default_factory=dict)

    def change(self, position: int, names: dict[str, File | Directory | None]) -> None:
        self.pending.append(Renaming(position, names))
        self.live = renamed(self.live, self.pending[-1:])

    def settle(self, position: int) -> None:
        settled = [change for change in self.pending if change.position <= position]
        self.durable = renamed(self.durable, settled)
        self.pending = [change for change in self.pending if change.position > position]

    def entries(self, survivors: list[Renaming]) -> dict[str, File | Directory]:
        return renamed(self.durable, survivors)


def renamed(
    names: dict[str, File | Directory], changes: list[Renaming]
) -> dict[str, File | Directory]:
    result: dict[str, File | Directory | None] = dict(names)
    for change in changes:
        result.update(change.names)
    return {name: node for name, node in result.items() if node is not None}


class Disk:
    """Follows the events one by one; `root` is then what the disk was sure of and what it was not."""

    def __init__(self, root: str) -> None:
        self.root = Directory()
        self._path = PurePosixPath(root)
        self._open: dict[tuple[int, int], File | Directory] = {}
        self._syncs: dict[tuple[int, int], tuple[File | Directory, int]] = {}
        # Files written through streams, which the shim cannot see. No image has them.
        self.unseen: set[str] = set()
        self._handlers: dict[Kind, Callable[[Event], None]] = {
            Kind.OPEN: self._on_open,
            Kind.CLOSE: self._on_close,
            Kind.DUP: self._on_dup,
            Kind.WRITE: self._on_write,
            Kind.TRUNCATE: self._on_resize,
            Kind.EXTEND: self._on_resize,
            Kind.RENAME: self._on_rename,
            Kind.LINK: self._on_link,
            Kind.UNLINK: self._on_remove,
            Kind.RMDIR: self._on_remove,
            Kind.MKDIR: self._on_mkdir,
            Kind.SYNC_BEGIN: self._on_sync_begin,
            Kind.SYNC_END: self._on_sync_end,
            Kind.UNSEEN: self._on_unseen,
            Kind.UNSUPPORTED: self._on_unsupported,
        }

    def follow(self, event: Event) -> None:
        self._handlers[event.kind](event)

    def _parts(self, path: bytes) -> tuple[str, ...]:
        parts = PurePosixPath(path.decode()).relative_to(self._path).parts
        if ".." in parts:
            raise Unsupported(f"a path with dots: {path!r}")
        return parts

    def _node(self, parts: tuple[str, ...]) -> File | Directory | None:
        node: File | Directory | None = self.root
        for part in parts:
            node = node.live.get(part) if isinstance(node, Directory) else None
        return node

    def _parent(self, path: bytes) -> tuple[Directory, str]:
        parts = self._parts(path)
        parent = self._node(parts[:-1])
        if not isinstance(parent, Directory):
            raise Unsupported(f"a name in an unknown directory: {path!r}")
        return parent, parts[-1]

    def _on_open(self, event: Event) -> None:
        node = self._node(self._parts(event.first))
        if event.b & DIRECTORY:
            if not isinstance(node, Directory):
                raise Unsupported(f"an unknown directory: {event.first!r}")
        elif event.b & CREATED:
            parent, name = self._parent(event.first)
            node = File()
            parent.change(event.end, {name: node})
        elif node is None:
            # Only what came in by a stream may be opened without having been created.
            if event.first.decode() not in self.unseen:
                raise Unsupported(f"an unknown file: {event.first!r}")
            node = File()
        elif event.b & TRUNCATED and isinstance(node, File):
            node.pending.append(Resize(event.end, 0, grow_only=False))
        self._open[event.pid, event.fd] = node

    def _on_close(self, event: Event) -> None:
        self._open.pop((event.pid, event.fd), None)

    def _on_dup(self, event: Event) -> None:
        self._open[event.pid, event.fd] = self._open[event.pid, event.a]

    def _on_write(self, event: Event) -> None:
        self._file(event).pending.append(Write(event.end, event.a, event.first))

    def _on_resize(self, event: Event) -> None:
        change = Resize(event.end, event.a, grow_only=event.kind is Kind.EXTEND)
        self._file(event).pending.append(change)

    def _file(self, event: Event) -> File:
        node = self._open[event.pid, event.fd]
        if not isinstance(node, File):
            raise Unsupported("a write to a directory")
        return node

    def _on_rename(self, event: Event) -> None:
        old_path, new_path = event.first.decode(), event.second.decode()
        parent, old = self._parent(event.first)
        target, new = self._parent(event.second)
        if old_path in self.unseen:
            self.unseen = self.unseen - {old_path} | {new_path}
            target.live.pop(new, None)
            return
        node = parent.live.get(old)
        if target is not parent or node is None:
            raise Unsupported(f"this rename: {event.first!r} to {event.second!r}")
        parent.change(event.end, {old: None, new: node})

    def _on_link(self, event: Event) -> None:
        node = self._node(self._parts(event.first))
        if node is None:
            raise Unsupported(f"a link to an unknown file: {event.first!r}")
        parent, name = self._parent(event.second)
        parent.change(event.end, {name: node})

    def _on_remove(self, event: Event) -> None:
        path = event.first.decode()
        if path in self.unseen:
            self.unseen.discard(path)
            return
        parent, name = self._parent(event.first)
        parent.change(event.end, {name: None})

    def _on_mkdir(self, event: Event) -> None:
        parent, name = self._parent(event.first)
        parent.change(event.end, {name: Directory()})

    def _on_sync_begin(self, event: Event) -> None:
        self._syncs[event.pid, event.a] = self._open[event.pid, event.fd], event.end

    def _on_sync_end(self, event: Event) -> None:
        node, began = self._syncs.pop((event.pid, event.a))
        if event.b == 0:
            node.settle(began)

    def _on_unseen(self, event: Event) -> None:
        self.unseen.add(event.first.decode())

    def _on_unsupported(self, event: Event) -> None:
        raise Unsupported(event.first.decode())


def files(directory: Directory, prefix: str = "") -> Iterator[tuple[str, File]]:
    """The files that a running process sees, by path."""
    for name, node in directory.live.items():
        if isinstance(node, File):
            yield prefix + name, node
        else:
            yield from files(node, f"{prefix}{name}/")
