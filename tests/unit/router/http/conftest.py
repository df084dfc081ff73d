from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.router.http.gateway import Client, Gateway, running


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """A gateway with the usual limits, shared by the tests of a file."""
    with running() as gateway:
        yield gateway


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with gateway.connect() as client:
        yield client
