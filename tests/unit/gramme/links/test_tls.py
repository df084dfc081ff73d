"""Certificates: each end shows one that the cluster's authority signed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gramme.links.security import Secret, Security, SecurityRefused, Tls
from tests.support.certificates import LOCAL, Authority
from tests.support.link_ends import SECRET, Host, dialling, link_of, listening

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None,
    reason="openssl, which makes the certificates, is not installed",
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "authority")


def ours(authority: Authority, name: str, alternative: str = LOCAL, expected: str = "") -> Security:
    tls = Tls.read(*authority.files(name, alternative), authority.certificate, expected)
    return Security(SECRET.secret, tls)


async def test_ends_with_certificates_of_one_authority_talk(authority: Authority) -> None:
    host = Host()
    async with (
        listening(host.accept, ours(authority, "b")) as address,
        dialling(address, ours(authority, "a")) as near,
    ):
        await near.hears("up")
        link_of(near).send(b"in private")
        far = await host.owner()
        await far.hears("frame")

        assert far.frames == [b"in private"]


async def test_a_certificate_may_be_made_out_to_a_name_of_the_cluster(authority: Authority) -> None:
    host = Host()
    listener = ours(authority, "everybody", "DNS:gramme")
    dialler = ours(authority, "somebody", "DNS:gramme", expected="gramme")
    async with listening(host.accept, listener) as address:
        async with dialling(address, dialler) as near:
            await near.hears("up")
        async with dialling(address, ours(authority, "strict")) as near:
            await near.hears("down")


async def test_who_has_another_authority_s_certificate_or_none_is_not_heard(
    authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger")
    # Believes the listener, but shows a certificate that the listener does not believe.
    imposter = Security(SECRET.secret, Tls.read(*stranger.files("imposter"), authority.certificate))
    host = Host()
    async with listening(host.accept, ours(authority, "b")) as address:
        for security in (ours(stranger, "a"), imposter, SECRET):
            async with dialling(address, security) as near:
                await near.hears("down")

        assert host.owners == []


async def test_a_secret_is_still_needed(authority: Authority) -> None:
    host = Host()
    right = ours(authority, "a")
    wrong = Security(Secret(b"a guess"), right.tls)
    async with listening(host.accept, right) as address, dialling(address, wrong) as near:
        await near.hears("down")

        assert near.downs[0].refused
        assert host.owners == []


async def test_a_listener_with_other_certificates_is_not_told_the_secret(
    authority: Authority, tmp_path: Path
) -> None:
    host = Host()
    imposter = ours(Authority(tmp_path, "imposter"), "b")
    async with (
        listening(host.accept, imposter) as address,
        dialling(address, ours(authority, "a")) as near,
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
    assert "PRIVATE" not in repr(ours(authority, "shown"))
