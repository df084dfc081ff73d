"""What the `gramme` command says of itself."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from gramme.cli.main import main


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert (ended.value.code, capsys.readouterr().out) == (0, f"gramme {version('grammedb')}\n")


def test_a_command_is_asked_for_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])

    words = "gramme: the following arguments are required: command; see gramme --help\n"
    assert (ended.value.code, capsys.readouterr().err) == (2, words)
