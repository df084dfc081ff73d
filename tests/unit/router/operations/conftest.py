"""The router every test begins with: two tables, and nothing in them."""

from __future__ import annotations

import pytest

from tests.unit.router.operations.router import COMPOSITE, HASH_ONLY, Router


@pytest.fixture
def router() -> Router:
    router = Router.start()
    router.ask("CreateTable", HASH_ONLY)
    router.ask("CreateTable", COMPOSITE)
    return router
