"""Who may ask: by credentials or principals where there are any, and everybody on this machine where there are not."""

from __future__ import annotations

from pathlib import Path

from gramme.clock import SystemClock
from gramme.loopback import is_loopback
from gramme.router.http.credentials import CredentialsRefused, read_credentials
from gramme.router.http.verifier import Verifier
from gramme.start import StartRefused


def verifier(
    credentials: str, host: str, *, insecure_bind: bool, principals: bool = False
) -> Verifier | None:
    """Who tells callers apart; None if everybody may ask, which nobody from outside may.

    With `principals` it begins without any, and knows nobody. Raises StartRefused, and OSError if there is no such host.
    """
    if principals and credentials:
        raise StartRefused("give --principals or --credentials, not both")
    if principals:
        return Verifier({}, SystemClock())
    if credentials:
        try:
            known = read_credentials(Path(credentials))
        except CredentialsRefused as error:
            raise StartRefused(str(error)) from error
        # Clients sign by the system's time, also when the server's own stands still.
        return Verifier(known, SystemClock())
    if not insecure_bind and not is_loopback(host):
        raise StartRefused(
            f"without credentials everybody who can reach {host or 'any address'} could do everything: "
            "give --credentials, or --insecure-bind if that is meant"
        )
    return None
