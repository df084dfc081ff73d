"""Commands about principals: who is asked, what is shown, and what is refused in one line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec
import pytest

from gramme.cli.main import main
from gramme.cli.principals import (
    ACCOUNT_RULE,
    ATTEMPT_S,
    DEADLINE_S,
    NAME_RULE,
    Unsettled,
    as_json,
    as_profile,
    as_text,
    ask_leader,
)
from gramme.codec.principals import AddPrincipal, ListPrincipals, PrincipalsCommand
from gramme.errors import LimitExceeded, NotLeader, OutcomeUnknown
from gramme.model.principal import Holder, Principal
from gramme.router.http.credentials import Credential, parse_credentials
from gramme.start import StartRefused
from tests.support.deterministic import DeterministicLoop
from tests.unit.gramme.cli.test_health import free_port

SHOP = Principal("AKIA" + "SHOP" * 4, "shop", "111122223333", "s/+" * 13 + "s")
GUEST = Principal("AKIA" + "GUEST" * 3 + "G", "guest", "0" * 12, "g" * 40)

Says = Callable[[float], list[Holder] | Exception | str]
DONE = [SHOP.holder]


class Nodes:
    """Each says what it does at a moment. `asked` is who was asked, in order."""

    def __init__(self, *says: Says) -> None:
        self.says = says
        self.asked: list[int] = []
        self.commands: list[PrincipalsCommand] = []

    async def ask(
        self, number: int, command: PrincipalsCommand, timeout_s: float
    ) -> list[Holder] | Exception | str:
        self.asked.append(number)
        self.commands.append(command)
        answer = self.says[number - 1](now())
        if isinstance(answer, str) and answer.startswith("no answer"):
            await asyncio.sleep(timeout_s)
        return answer


def now() -> float:
    return asyncio.get_running_loop().time()


def ask(nodes: Nodes, command: PrincipalsCommand | None = None) -> tuple[list[Holder], float]:
    """What came of it, and when."""

    async def run() -> tuple[list[Holder], float]:
        done = await ask_leader(command or ListPrincipals(), len(nodes.says), nodes.ask)
        return done, now()

    return DeterministicLoop(Random(1), 100_000).run(run())


def test_who_is_named_as_the_leader_is_asked_at_once() -> None:
    nodes = Nodes(lambda at: NotLeader(3), lambda at: "gone", lambda at: DONE)

    assert ask(nodes) == (DONE, 0)
    assert nodes.asked == [1, 3]


def test_the_same_command_is_asked_for_over_an_election() -> None:
    nodes = Nodes(
        lambda at: "cannot be reached",
        lambda at: NotLeader(0) if at < 2 else DONE,
        lambda at: OutcomeUnknown("it ceased to lead") if at < 1 else NotLeader(1),
    )

    _, at = ask(nodes, AddPrincipal(SHOP))

    assert 2 <= at < 3
    assert {*nodes.asked} == {1, 2, 3}
    assert len(nodes.asked) < 50
    assert nodes.commands == [AddPrincipal(SHOP)] * len(nodes.asked)


def test_nodes_that_name_each_other_make_no_storm() -> None:
    nodes = Nodes(lambda at: NotLeader(2), lambda at: NotLeader(1))

    with pytest.raises(Unsettled, match="nobody who leads the cluster answered within 10 s"):
        ask(nodes)

    assert len(nodes.asked) < 3 * DEADLINE_S / 0.1


def test_silent_node_is_waited_for_only_so_long() -> None:
    nodes = Nodes(lambda at: "no answer within 3 s", lambda at: DONE)

    assert ATTEMPT_S <= ask(nodes)[1] < ATTEMPT_S + 0.5


def test_named_node_that_is_none_is_passed_over() -> None:
    nodes = Nodes(lambda at: NotLeader(7), lambda at: DONE)

    assert ask(nodes)[0] == DONE


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (Nodes(*[lambda at: "cannot be reached"] * 3), "no node can be asked: cannot be reached"),
        (
            Nodes(lambda at: "cannot be reached", lambda at: "another release"),
            "no node can be asked: node 1: cannot be reached; node 2: another release",
        ),
        (Nodes(lambda at: LimitExceeded("there is no room")), "there is no room"),
    ],
    ids=["nobody there", "each for its reason", "refused"],
)
def test_what_no_waiting_would_change_is_said_at_once(nodes: Nodes, words: str) -> None:
    with pytest.raises(StartRefused) as refusal:
        ask(nodes)

    assert str(refusal.value) == words
    assert not isinstance(refusal.value, Unsettled)


# What is shown


def test_what_is_shown_of_a_new_key_is_a_profile_of_a_credentials_file() -> None:
    both = parse_credentials(f"{as_profile(SHOP)}\n{as_profile(GUEST)}\n")

    assert both == {
        SHOP.access_key: Credential("111122223333", SHOP.secret),
        GUEST.access_key: Credential("0" * 12, GUEST.secret),
    }
    assert as_profile(SHOP).startswith("[shop]\n")


def test_a_person_reads_aligned_columns_without_secrets() -> None:
    assert as_text([SHOP.holder, GUEST.holder]).splitlines() == [
        "NAME    ACCESS KEY             ACCOUNT",
        f"guest   {GUEST.access_key}   000000000000",
        f"shop    {SHOP.access_key}   111122223333",
    ]
    assert as_text([]) == "there are no access keys"


def test_a_program_reads_json() -> None:
    shown = json.loads(as_json([SHOP.holder]))

    assert shown == {"principals": [msgspec.to_builtins(SHOP.holder)]}
    assert json.loads(as_json([])) == {"principals": []}


# What is refused


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a command ends with."""
    with pytest.raises(SystemExit) as ended:
        main(["admin", "principals", *arguments])
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (1, "")
    assert shown.err.startswith("gramme: ")
    assert shown.err.count("\n") == 1
    return shown.err.removeprefix("gramme: ").rstrip()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a b"], f"{NAME_RULE}, not 'a b'"),
        ([""], f"{NAME_RULE}, not ''"),
        (["a\nb"], f"{NAME_RULE}, not 'a\\nb'"),
        (["[x]"], f"{NAME_RULE}, not '[x]'"),
        (["x" * 65], f"{NAME_RULE}, not '{'x' * 65}'"),
        (["shop", "--account", "12"], f"{ACCOUNT_RULE}, not '12'"),
        (["shop", "--account", "1" * 13], f"{ACCOUNT_RULE}, not '{'1' * 13}'"),
        (["shop", "--account", "x" * 12], f"{ACCOUNT_RULE}, not 'xxxxxxxxxxxx'"),
        (["shop"], "give --cluster, or --members and --secret-file"),
    ],
)
def test_slips_are_told_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert refused(capsys, "add", *arguments) == words


@pytest.mark.parametrize("command", [["add", "shop"], ["list"], ["remove", "AKIA"]])
def test_where_no_cluster_is_that_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")

    assert refused(capsys, *command, "--cluster", str(tmp_path)) == (
        f"{tmp_path} is no directory of gramme cluster"
    )
    with free_port() as port:
        words = refused(
            capsys, *command, "--members", f"127.0.0.1:{port}", "--secret-file", str(secret)
        )
    assert words == "no node can be asked: cannot be reached"
