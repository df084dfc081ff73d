"""Which ports the routers of `gramme cluster` are given."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from gramme.cli.cluster import _check, _routers, gateway_of
from gramme.cli.cluster_directory import ClusterDirectory
from gramme.start import StartRefused


def options_of(**given: object) -> argparse.Namespace:
    usual = {
        "nodes": 1,
        "routers": 2,
        "port": 7120,
        "gateway_port": -1,
        "partitions": 1,
        "credentials": "",
        "principals": False,
        "cache_mb": 0,
        "index_delay_ms": 0,
    }
    return argparse.Namespace(**{**usual, **given})


@pytest.fixture
def directory(tmp_path: Path) -> ClusterDirectory:
    directory = ClusterDirectory.open(tmp_path / "c", 1)
    directory.close()
    return directory


def test_routers_have_no_gateway_unless_it_is_asked_for(directory: ClusterDirectory) -> None:
    routers = _routers(options_of(), directory)

    assert [router.address for router in routers] == ["127.0.0.1:7120", "127.0.0.1:7121"]
    assert [gateway_of(router) for router in routers] == ["", ""]


def test_gateways_have_ports_in_the_order_of_their_routers(directory: ClusterDirectory) -> None:
    routers = _routers(options_of(gateway_port=7130), directory)

    assert [gateway_of(router) for router in routers] == ["127.0.0.1:7130", "127.0.0.1:7131"]


def test_free_ports_are_found_for_gateways_too(directory: ClusterDirectory) -> None:
    routers = _routers(options_of(gateway_port=0), directory)

    assert len({gateway_of(router) for router in routers}) == 2


def test_routers_are_told_who_may_ask(directory: ClusterDirectory) -> None:
    anybody, of_file, of_cluster = (
        _routers(options_of(**given), directory)[0].command
        for given in ({}, {"credentials": "/keys"}, {"principals": True})
    )

    assert not {"--credentials", "--principals"} & {*anybody}
    assert of_file[-2:] == ["--credentials", "/keys"]
    assert of_cluster[-1] == "--principals"


def test_a_file_of_keys_and_principals_are_not_both_taken() -> None:
    with pytest.raises(StartRefused, match="give --principals or --credentials, not both"):
        _check(options_of(credentials="/keys", principals=True))


@pytest.mark.parametrize("port", ["port", "gateway_port"])
def test_ports_end_with_the_last_one(port: str) -> None:
    _check(options_of(**{port: 65534}))
    with pytest.raises(StartRefused, match="65535 is no port, or leaves none"):
        _check(options_of(**{port: 65535}))
