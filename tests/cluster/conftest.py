"""The image and the cluster of `deploy/`, made once for all tests, where there is an engine to make them.

Without an engine, or without a base to build on, the tests are skipped and say why. `GRAMME_BASE` and `PIP_NO_INDEX` choose
what the image is built on and from, as docs/deploying.md says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from testcontainers.core.config import testcontainers_config

from tests.cluster.containers import Containers
from tests.cluster.engine import build_image, lack


@pytest.fixture(scope="session")
def image() -> str:
    """The image's name."""
    reason = lack()
    if reason is not None:
        pytest.skip(f"containers are not tested: {reason}")
    # What cleans up after testcontainers is an image of its own, which need not be there. The tests clean up themselves.
    testcontainers_config.ryuk_disabled = True
    return build_image()


@pytest.fixture(scope="session")
def containers(image: str) -> Iterator[Containers]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRAMME_IMAGE", image)
        # Beside a cluster that somebody runs here.
        environment.setenv("COMPOSE_PROJECT_NAME", f"gramme-test-{os.getpid()}-{uuid4().hex[:8]}")
        environment.setenv("GRAMME_PORT", "0")
        environment.setenv("GRAMME_PARTITIONS", "4")
        with Containers() as cluster:
            yield cluster
