"""A data directory is ours, whole and alone, or it is refused in one line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gramme.node.engine import directory
from gramme.node.engine.directory import DataDirectory, DirectoryRefused, Identity
from gramme.node.engine.keyspace import DISK_FORMAT


def test_a_new_directory_gets_an_identity_it_keeps(tmp_path: Path) -> None:
    first = DataDirectory.open(tmp_path / "new" / "data")
    first.close()

    again = DataDirectory.open(tmp_path / "new" / "data")

    assert (again.id, again.seed) == (first.id, first.seed)
    again.close()


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    held = DataDirectory.open(tmp_path)

    with pytest.raises(DirectoryRefused, match="in use by another process"):
        DataDirectory.open(tmp_path)

    held.close()


def test_a_foreign_directory_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("mine")

    with pytest.raises(DirectoryRefused, match="no data directory of Gramme"):
        DataDirectory.open(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_a_database_without_identity_is_refused(tmp_path: Path) -> None:
    DataDirectory.open(tmp_path).close()
    (tmp_path / "identity").unlink()

    with pytest.raises(DirectoryRefused):
        DataDirectory.open(tmp_path)


def test_a_creation_that_was_cut_short_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "identity.new").write_bytes(b'{"form')

    opened = DataDirectory.open(tmp_path)

    assert len(opened.seed) == 16
    opened.close()


def test_a_newer_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    identity = Identity(DISK_FORMAT + 1, "ab", "cd")
    (tmp_path / "identity").write_bytes(msgspec.json.encode(identity))

    with pytest.raises(
        DirectoryRefused, match=f"disk format {DISK_FORMAT + 1}.* up to {DISK_FORMAT}"
    ):
        DataDirectory.open(tmp_path)


def test_a_damaged_identity_is_refused(tmp_path: Path) -> None:
    (tmp_path / "identity").write_bytes(b"{}")

    with pytest.raises(DirectoryRefused, match="is damaged"):
        DataDirectory.open(tmp_path)


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(DirectoryRefused, match="cannot use data directory"):
        DataDirectory.open(tmp_path / "file" / "data")


def test_every_name_on_the_way_to_the_data_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(directory, "sync_directory", synced.append)

    DataDirectory.open(tmp_path / "new" / "data").close()

    assert {tmp_path, tmp_path / "new", tmp_path / "new" / "data"} <= set(synced)
    assert (tmp_path / "new" / "data" / "db").is_dir()


def test_what_a_clock_was_moved_to_is_kept(tmp_path: Path) -> None:
    first = DataDirectory.open(tmp_path)
    assert first.moved_to_ms() == 0
    first.keep_moved_to(1_893_456_000_000)
    first.keep_moved_to(1_893_456_000_250)
    first.close()

    again = DataDirectory.open(tmp_path)

    assert again.moved_to_ms() == 1_893_456_000_250
    again.close()


@pytest.mark.parametrize("left", [b"", b"\0\0", b"noon"])
def test_a_time_that_power_loss_has_damaged_is_none(tmp_path: Path, left: bytes) -> None:
    directory = DataDirectory.open(tmp_path)
    (tmp_path / "clock").write_bytes(left)

    assert directory.moved_to_ms() == 0
    directory.close()
