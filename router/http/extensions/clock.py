"""`/_gramme/clock`: tells the time of a server, and moves it where the server was started with a clock that can be."""

from __future__ import annotations

from typing import Any, Final

from gramme.clock import VirtualClock, iso_of
from gramme.router.http.extensions.extension import Extension, Refused
from gramme.router.http.extensions.times import duration_ms, moment_ms
from gramme.router.operations.context import Context

_HOW = 'give {"advance": "48h"} or {"to": "2030-01-01T00:00:00Z"}'


async def show(context: Context, request: Any) -> dict[str, object]:
    return _told(_virtual(context))


async def move(context: Context, request: Any) -> dict[str, object]:
    clock = _virtual(context)
    try:
        match request:
            case {"advance": by, **rest} if not rest:
                clock.advance(duration_ms(by))
            case {"to": at, **rest} if not rest:
                clock.move_to(moment_ms(at))
            case _:
                raise Refused(400, _HOW)
    except ValueError as error:
        raise Refused(400, str(error)) from None
    return _told(clock)


CLOCK: Final[Extension] = {"GET": show, "POST": move}


def _virtual(context: Context) -> VirtualClock:
    clock = context.clock
    if not isinstance(clock, VirtualClock):
        raise Refused(
            404,
            "this server goes by the system's clock, which cannot be moved: "
            "start it with gramme serve --clock virtual",
        )
    return clock


def _told(clock: VirtualClock) -> dict[str, object]:
    now_ms = clock.now_ms()
    return {"now": now_ms / 1000, "iso": iso_of(now_ms), "clock": "virtual"}
