"""Scripts of commands and the trace they give, with prose between.

A line that begins with `>` is a command, indented lines under it are what happened, and everything else is prose.
`python -m tests.scenarios` writes the traces anew; read the difference before you keep it.

    > group 3 learners 4 without pre-vote    replicas 1 to 3 vote, 4 learns; `without` may also name check-quorum
    > logs 1:1,2@3 2:1                       start with these terms in the logs, and in term 3; right after `group`
    > tick 10 1                              ten ticks for replica 1; for all, if none is named
    > campaign 1 / heartbeat 1               as time would make it
    > propose a / read 7                     to the leader of the highest term
    > change promote 4 / transfer 3          the same
    > deliver                                everything that is under way, once; flushes do not finish
    > flush 1                                its flushes finish
    > settle                                 deliver and flush until nothing is left to do
    > cut 1 2 / heal                         lose all to and from these replicas, until healed
    > lose                                   lose everything that is under way
    > crash 1                                lose what is not flushed, and start again
    > start 4                                a new replica that knows nothing
    > compact 1                              drop its log up to what is applied
    > show                                   role, term, log and commit index of all
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gramme.node.raft.configuration import Change, ChangeKind, configuration_of
from gramme.node.raft.core import Raft
from gramme.node.raft.messages import (
    AppendEntries,
    AppendResponse,
    Configuration,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
    Message,
    ReplicaId,
    RequestVote,
    TimeoutNow,
    VoteResponse,
)
from gramme.node.raft.refusals import Refused
from gramme.node.raft.settings import Settings
from tests.unit.node.raft.cluster import Cluster
from tests.unit.node.raft.shell import Disk

INDENT = "    "


class Traced(Cluster):
    """A cluster that says what happens in it."""

    trace: Callable[[str], None] = staticmethod(lambda line: None)

    def deliver(self, message: Message) -> None:
        self.trace(f"{message.sender} -> {message.to}  {told(message)}")
        super().deliver(message)

    def drop(self, message: Message) -> None:
        self.trace(f"{message.sender} -x {message.to}  {told(message)}")
        super().drop(message)


class Interpreter:
    """Runs one script."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._arguments: list[str] = []
        self._cluster: Traced = Traced(1)
        self._seen: dict[int, tuple[str, int]] = {}

    def run(self, script: str) -> str:
        """Return the script with the traces it really gives."""
        kept: list[str] = []
        for line in script.splitlines():
            if line.startswith(">"):
                kept.append(line)
                kept += [INDENT + each for each in self._command(line[1:].split())]
            elif not line.startswith(INDENT):
                kept.append(line)
        return "\n".join(kept) + "\n"

    def _command(self, words: list[str]) -> list[str]:
        self._lines = []
        name, *arguments = words
        try:
            getattr(self, f"do_{name}")(*arguments)
        except Refused as refusal:
            self._lines.append(f"refused: {type(refusal).__name__}")
        self._observe()
        return self._lines

    def _observe(self) -> None:
        """Say who changed its role, its term or what it applied."""
        for replica, shell in self._cluster.shells.items():
            raft = shell.raft
            role = f"{replica} is {raft.role.name.lower()} in term {raft.term}"
            effects = self._cluster.effects(replica)
            known, count = self._seen.get(replica, ("", 0))
            if role != known:
                self._lines.append(role)
            self._lines += [f"{replica} applies {_data(data)}" for data in effects[count:]]
            self._lines += [
                f"{replica} answers read {state.context}" for state in shell.read_states
            ]
            self._lines += [f"{replica} refuses read {context}" for context in shell.reads_refused]
            shell.read_states.clear()
            shell.reads_refused.clear()
            self._seen[replica] = (role, max(count, len(effects)))

    def _trace(self, line: str) -> None:
        self._observe()
        self._lines.append(line)

    # Commands

    def do_group(self, *arguments: str) -> None:
        self._arguments = list(arguments)
        self._make({}, {})

    def do_logs(self, *arguments: str) -> None:
        logs: dict[int, tuple[int, ...]] = {}
        terms: dict[int, int] = {}
        for argument in arguments:
            replica, _, rest = argument.partition(":")
            log, _, term = rest.partition("@")
            logs[int(replica)] = tuple(map(int, log.split(",")))
            terms[int(replica)] = int(term) if term else logs[int(replica)][-1]
        self._make(logs, terms)

    def _make(self, logs: dict[int, tuple[int, ...]], terms: dict[int, int]) -> None:
        words = iter(self._arguments)
        voters = int(next(words))
        options = dict(_pairs(words))
        settings = Settings(
            pre_vote="pre-vote" not in options.get("without", ""),
            check_quorum="check-quorum" not in options.get("without", ""),
        )
        learners = [int(each) for each in options.get("learners", "").split(",") if each]
        self._cluster = Traced(voters, learners=learners, settings=settings, logs=logs, terms=terms)
        self._cluster.trace = self._trace
        self._seen = {
            replica: (f"{replica} is follower in term {shell.raft.term}", 0)
            for replica, shell in self._cluster.shells.items()
        }

    def do_tick(self, count: str, *replicas: str) -> None:
        self._cluster.tick(int(count), *map(int, replicas))

    def do_campaign(self, replica: str) -> None:
        self._cluster[int(replica)].campaign()

    def do_heartbeat(self, replica: str) -> None:
        self._cluster[int(replica)].heartbeat()

    def do_propose(self, *data: str) -> None:
        for each in data:
            self._cluster.leader.propose(each.encode())

    def do_read(self, context: str) -> None:
        self._cluster.leader.read(int(context))

    def do_change(self, kind: str, replica: str) -> None:
        change = Change(ChangeKind[kind.upper().replace("-", "_")], ReplicaId(int(replica)))
        self._cluster.leader.propose_configuration(change)

    def do_transfer(self, to: str) -> None:
        self._cluster.leader.transfer(ReplicaId(int(to)))

    def do_deliver(self) -> None:
        for replica in self._cluster.shells:
            self._cluster.work(replica)
        messages, self._cluster.network = self._cluster.network, []
        for message in messages:
            self._cluster.deliver(message)

    def do_flush(self, replica: str) -> None:
        self._cluster.flush(int(replica))

    def do_settle(self) -> None:
        self._cluster.settle()

    def do_cut(self, *replicas: str) -> None:
        self._cluster.cut = set(map(int, replicas))

    def do_heal(self) -> None:
        self._cluster.cut = set()

    def do_lose(self) -> None:
        messages, self._cluster.network = self._cluster.network, []
        for message in messages:
            self._cluster.drop(message)

    def do_crash(self, replica: str) -> None:
        self._cluster.crash(int(replica))

    def do_start(self, replica: str) -> None:
        self._cluster.add(int(replica))

    def do_compact(self, replica: str) -> None:
        shell = self._cluster.shells[int(replica)]
        shell.compact(shell.raft.applied_index)

    def do_show(self) -> None:
        self._observe()
        for replica in self._cluster.shells:
            self._lines.append(_shown(self._cluster[replica], self._cluster.shells[replica].disk))


def _pairs(words: Iterator[str]) -> Iterator[tuple[str, str]]:
    return zip(words, words, strict=True)


def _shown(raft: Raft, disk: Disk) -> str:
    log = " ".join(map(_entry, disk.stored.entries))
    if disk.first_index() > 1:
        log = f"... {log}".strip()
    return f"{raft.replica}: term {raft.term}, committed {raft.log.committed}, log {log or 'empty'}"


def _data(data: bytes) -> str:
    return data.decode() if data.isascii() and data.decode().isprintable() else "a configuration"


def _members(configuration: Configuration | None) -> str:
    assert configuration is not None
    voters = ",".join(map(str, configuration.voters))
    learners = ",".join(map(str, configuration.learners))
    return f"[{voters}{'+' if learners else ''}{learners}]"


def _entry(entry: Entry) -> str:
    if entry.kind is EntryKind.CONFIGURATION:
        what = _members(configuration_of(entry))
    else:
        what = f"={entry.data.decode()}" if entry.data else ""
    return f"{entry.index}.{entry.term}{what}"


def told(message: Message) -> str:
    """A message in words. An entry is index.term=data."""
    match message:
        case RequestVote():
            kind = "pre-vote" if message.pre else "vote"
            asked = " at the leader's wish" if message.transfer else ""
            last = f"{message.last_index}.{message.last_term}"
            return f"{kind} for term {message.term}{asked}? log ends at {last}"
        case VoteResponse():
            kind = "pre-vote" if message.pre else "vote"
            return f"{kind} {'yes' if message.granted else 'no'}, term {message.term}"
        case AppendEntries():
            entries = " ".join(map(_entry, message.entries)) or "nothing"
            previous = f"{message.previous_index}.{message.previous_term}"
            return f"append {entries} after {previous}, committed {message.commit}"
        case AppendResponse():
            if message.rejected:
                hint = f"{message.hint_index}.{message.hint_term}"
                return f"no {message.index} here, perhaps {hint}, term {message.term}"
            return f"have {message.index}"
        case Heartbeat():
            return f"heartbeat, term {message.term}, committed {message.commit}" + _round(message)
        case HeartbeatResponse():
            return "heard" + _round(message)
        case InstallSnapshot():
            members = _members(message.snapshot.configuration)
            return f"snapshot at {message.snapshot.index}.{message.snapshot.term} {members}"
        case TimeoutNow():
            return "run now"


def _round(message: Heartbeat | HeartbeatResponse) -> str:
    return f", reads {message.round}" if message.round else ""
