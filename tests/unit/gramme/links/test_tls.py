"""Certificates: each end shows one that the cluster's authority signed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gramme.links.security import Secret, Security, SecurityRefused, Tls
from tests.support.link_ends import SECRET, Host, dialling, link_of, listening

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None,
    reason="openssl, which makes the certificates, is not installed",
)

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

    def security(self, name: str, alternative: str = LOCAL, expected: str = "") -> Security:
        tls = Tls.read(*self.files(name, alternative), self.certificate, expected)
        return Security(SECRET.secret, tls)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "authority")


async def test_ends_with_certificates_of_one_authority_talk(authority: Authority) -> None:
    host = Host()
    async with (
        listening(host.accept, authority.security("b")) as address,
        dialling(address, authority.security("a")) as near,
    ):
        await near.hears("up")
        link_of(near).send(b"in private")
        far = await host.owner()
        await far.hears("frame")

        assert far.frames == [b"in private"]


async def test_a_certificate_may_be_made_out_to_a_name_of_the_cluster(authority: Authority) -> None:
    host = Host()
    listener = authority.security("everybody", "DNS:gramme")
    dialler = authority.security("somebody", "DNS:gramme", expected="gramme")
    async with listening(host.accept, listener) as address:
        async with dialling(address, dialler) as near:
            await near.hears("up")
        async with dialling(address, authority.security("strict")) as near:
            await near.hears("down")


async def test_who_has_another_authority_s_certificate_or_none_is_not_heard(
    authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger")
    # Believes the listener, but shows a certificate that the listener does not believe.
    imposter = Security(SECRET.secret, Tls.read(*stranger.files("imposter"), authority.certificate))
    host = Host()
    async with listening(host.accept, authority.security("b")) as address:
        for security in (stranger.security("a"), imposter, SECRET):
            async with dialling(address, security) as near:
                await near.hears("down")

        assert host.owners == []


async def test_a_secret_is_still_needed(authority: Authority) -> None:
    host = Host()
    ours = authority.security("a")
    wrong = Security(Secret(b"a guess"), ours.tls)
    async with listening(host.accept, ours) as address, dialling(address, wrong) as near:
        await near.hears("down")

        assert near.downs[0].refused
        assert host.owners == []


async def test_a_listener_with_other_certificates_is_not_told_the_secret(
    authority: Authority, tmp_path: Path
) -> None:
    host = Host()
    imposter = Authority(tmp_path, "imposter").security("b")
    async with (
        listening(host.accept, imposter) as address,
        dialling(address, authority.security("a")) as near,
    ):
        await near.hears("down")

        assert host.owners == []


def test_files_that_make_no_sense_are_refused_in_one_line(
    authority: Authority, tmp_path: Path
) -> None:
    certificate, key = authority.files("ours")
    other_key = authority.files("theirs")[1]
    nonsense, missing = tmp_path / "nonsense", tmp_path / "missing"
    nonsense.write_text("nonsense")

    for files, complaint in (
        ((certificate, missing, authority.certificate), f"cannot read {missing}: No such file"),
        ((nonsense, key, authority.certificate), f"{nonsense} and {key} are not a certificate and"),
        ((certificate, other_key, authority.certificate), f"{certificate} and {other_key} are not"),
        ((certificate, key, nonsense), f"{nonsense} is not a certificate in PEM"),
    ):
        with pytest.raises(SecurityRefused) as refused:
            Tls.read(*files)
        assert str(refused.value).startswith(complaint)
        assert "\n" not in str(refused.value)


def test_a_key_does_not_show_itself(authority: Authority) -> None:
    assert "PRIVATE" not in repr(authority.security("shown"))


def _new_key(path: Path) -> tuple[str | Path, ...]:
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
