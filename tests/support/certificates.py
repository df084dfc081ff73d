"""Certificates for a test, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

LOCAL = "IP:127.0.0.1"


class Authority:
    """Signs certificates; its own is `certificate`."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        self.certificate, self._key = directory / f"{name}.pem", directory / f"{name}.key"
        _openssl(
            "req", "-x509", "-days", "2", "-subj", f"/CN={name}", *_new_key(self._key),
            "-out", self.certificate,
        )  # fmt: skip

    def files(self, name: str, alternative: str = LOCAL) -> tuple[Path, Path]:
        """A certificate made out to `alternative`, and its key."""
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        request, extensions = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative}\n")
        _openssl("req", "-subj", f"/CN={name}", *_new_key(key), "-out", request)
        _openssl(
            "x509", "-req", "-days", "2", "-in", request, "-CA", self.certificate, "-CAkey", self._key,
            "-CAcreateserial", "-extfile", extensions, "-out", certificate,
        )  # fmt: skip
        return certificate, key


def _new_key(path: Path) -> tuple[str | Path, ...]:
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
