"""Every extension there is, by the path after `/_gramme/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gramme.router.http.extensions.clock import CLOCK
from gramme.router.http.extensions.extension import Extension

EXTENSIONS: Final[Mapping[str, Extension]] = {"clock": CLOCK}
