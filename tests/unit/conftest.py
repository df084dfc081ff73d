"""Lets a test be a coroutine function: it runs on a fresh event loop of its own."""

from __future__ import annotations

import asyncio
import inspect

import pytest

TEST_SECONDS_MAX = 30


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), TEST_SECONDS_MAX))
    return True
