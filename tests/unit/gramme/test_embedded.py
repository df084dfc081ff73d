"""What a server can be told and from where, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from gramme.clock import LATEST_MS, SystemClock
from gramme.embedded import Settings, _sweep, serving
from gramme.node import opening
from gramme.node.engine.directory import IN_MEMORY_MARK, DataDirectory
from gramme.start import StartRefused
from tests.conformance.tables import Gsi, a_table
from tests.support.waiting import until
from tests.unit.gramme.slow import TIMEOUT_S, client_of


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


def test_a_virtual_clock_begins_now_and_stands_still() -> None:
    before_ms = SystemClock().now_ms()
    with serving(clock="virtual") as server:
        assert before_ms <= server.clock.now_ms() <= SystemClock().now_ms()
        assert server.clock.now_ms() == server.clock.now_ms()


def test_time_goes_on_from_where_it_was_moved_to(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"clock": "virtual", "in_memory": False, "data": str(tmp_path)}
    with serving(**settings) as server:
        server.clock.advance(172_800_000)
        moved_to_ms = server.clock.now_ms()

    with serving(**settings) as server:
        assert server.clock.now_ms() == moved_to_ms


def test_time_does_not_go_back_to_where_it_was_moved_to_long_ago(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"clock": "virtual", "in_memory": False, "data": str(tmp_path)}
    with serving(**settings):
        pass
    (tmp_path / "clock").write_text("1000000000000")

    with serving(**settings) as server:
        assert server.clock.now_ms() > 1_700_000_000_000


def test_the_last_moment_of_all_is_a_time_like_any_other() -> None:
    with serving(clock="virtual", index_delay_ms=1) as server:
        dynamodb = client_of(server)
        server.clock.move_to(LATEST_MS - 1)
        name = str(
            dynamodb.create_table(**a_table("pk:S", Gsi("gsi", "g:S")))["TableDescription"][
                "TableName"
            ]
        )
        dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}, "g": {"S": "g"}})
        server.clock.move_to(LATEST_MS)

        def count() -> int:
            return dynamodb.scan(TableName=name, IndexName="gsi")["Count"]

        until(count, TIMEOUT_S, "the index has the item")


def test_the_systems_clock_is_nobodys_to_move() -> None:
    with serving() as server, pytest.raises(RuntimeError, match=r'serving\(clock="virtual"\)'):
        server.clock.advance(1)


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
