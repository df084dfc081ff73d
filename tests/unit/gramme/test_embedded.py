"""What a server can be told and from where, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from gramme.embedded import Settings, _sweep, serving
from gramme.node import opening
from gramme.node.engine.directory import IN_MEMORY_MARK, DataDirectory
from gramme.start import StartRefused


def test_flags_come_before_environment_before_file_before_defaults() -> None:
    environment = {"GRAMME_PORT": "2", "GRAMME_PARTITIONS": "2"}
    file = {"port": 3, "partitions": 3, "clock": "virtual"}

    settings = Settings.load({"port": 1}, environment, file)

    assert (settings.port, settings.partitions, settings.clock, settings.durability) == (
        1,
        2,
        "virtual",
        "flush",
    )


@pytest.mark.parametrize(
    ("environment", "file"),
    [
        ({"GRAMME_PORT": "many"}, {}),
        ({"GRAMME_IN_MEMORY": "perhaps"}, {}),
        ({"GRAMME_DURABILITY": "none"}, {}),
        ({"GRAMME_PARTITIONS": "0"}, {}),
        ({"GRAMME_CACHE_MB": "-1"}, {}),
        ({"GRAMME_FAILPOINTS": "disk.melt=1"}, {}),
        ({"GRAMME_GATEWAY_PORT": "65536"}, {}),
        ({}, {"port": "8000"}),
        ({}, {"colour": "red"}),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(environment: dict[str, str], file: dict[str, Any]) -> None:
    with pytest.raises(StartRefused):
        Settings.load({}, environment, file)


def test_only_what_an_in_memory_server_left_behind_is_swept_away(tmp_path: Path) -> None:
    kept, left, used = (tmp_path / f"gramme-{name}" for name in ("kept", "left", "used"))
    for path in (kept, left, used):
        DataDirectory.open(path).close()
    for path in (left, used):
        (path / IN_MEMORY_MARK).touch()
    user = DataDirectory.open(used)

    _sweep(tmp_path)

    assert (kept.exists(), left.exists(), used.exists()) == (True, False, True)
    user.close()


def test_a_server_in_this_process_answers_until_its_block_ends() -> None:
    with serving() as server:
        endpoint = server.endpoint
        assert urlopen(endpoint).read().startswith(b"healthy: ")

    with pytest.raises(URLError):
        urlopen(endpoint)


def test_why_a_server_in_this_process_cannot_start_reaches_the_caller() -> None:
    with serving() as server:
        port = int(server.endpoint.rpartition(":")[2])

        with pytest.raises(BaseExceptionGroup) as refusal, serving(port=port):
            pass

        assert refusal.group_contains(StartRefused, match="cannot listen on")


@pytest.mark.parametrize(
    ("limit", "cache_bytes"),
    [("4294967296\n", 4 << 30 >> 4), ("1048576\n", 64 << 20)],
    ids=["a sixteenth", "never less than is useful"],
)
def test_the_cache_follows_a_containers_memory(
    limit: str, cache_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.max"
    file.write_text(limit)
    monkeypatch.setattr(opening, "CONTAINER_LIMIT", file)

    assert opening.usual_cache_bytes() == cache_bytes


def test_without_a_limit_the_cache_follows_the_machines_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.max"
    file.write_text("max\n")
    monkeypatch.setattr(opening, "CONTAINER_LIMIT", file)

    assert opening.usual_cache_bytes() > 64 << 20


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_nobody_from_outside_is_let_in_without_credentials(host: str, tmp_path: Path) -> None:
    data = tmp_path / "data"

    with (
        pytest.raises(StartRefused, match="give --credentials, or --insecure-bind"),
        serving(host=host, in_memory=False, data=str(data)),
    ):
        pass

    assert not data.exists()


def test_listening_everywhere_may_be_meant() -> None:
    with serving(host="0.0.0.0", insecure_bind=True) as server:
        assert urlopen(server.endpoint).read().startswith(b"healthy: ")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2", "127.0.0.1"])
def test_this_machine_needs_no_credentials(host: str) -> None:
    with serving(host=host) as server:
        assert urlopen(server.endpoint).read().startswith(b"healthy: ")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a..b", "x" * 300])
def test_a_host_that_does_not_exist_cannot_be_listened_on(host: str) -> None:
    with pytest.raises(StartRefused, match="cannot listen on"), serving(host=host):
        pass


def test_credentials_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[a]\naws_access_key_id=AKID\n")

    with (
        pytest.raises(StartRefused, match="profile a has no good aws_secret_access_key"),
        serving(credentials=str(file)),
    ):
        pass


def test_with_credentials_a_server_may_listen_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[a]\naws_access_key_id=AKID\naws_secret_access_key=secret\n")

    with serving(host="0.0.0.0", credentials=str(file)) as server:
        assert urlopen(server.endpoint).read().startswith(b"healthy: ")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gateway_certificate": "there.pem"}, "a certificate and its key"),
        ({"gateway_certificate": "a.pem", "gateway_key": "a.key"}, "cannot read a.pem"),
        ({"host": "0.0.0.0"}, "without credentials"),
    ],
    ids=str,
)
def test_a_gateway_that_cannot_be_is_said_at_the_start(
    settings: dict[str, Any], words: str
) -> None:
    with (
        pytest.raises((StartRefused, BaseExceptionGroup)) as refused,
        serving(gateway_port=0, **settings),
    ):
        pass

    error: BaseException = refused.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, StartRefused)
    assert words in str(error)
