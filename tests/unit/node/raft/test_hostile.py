"""Messages no replica sends. None may raise, move what is committed, or make a replica lead or vote twice."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramme.node.raft.messages import (
    NUMBER_MAX,
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
    Snapshot,
    TimeoutNow,
    VoteResponse,
    decode_message,
    encode_membership,
    encode_message,
)
from tests.unit.node.raft.cluster import Cluster, an_entry

ONE, TWO, THREE = ReplicaId(1), ReplicaId(2), ReplicaId(3)

ids = st.integers(1, 5).map(ReplicaId)
numbers = st.one_of(st.integers(0, 6), st.integers(0, NUMBER_MAX))
small = st.integers(0, 6)
configurations = st.builds(
    Configuration,
    voters=st.lists(ids, max_size=4).map(tuple),
    learners=st.lists(ids, max_size=2).map(tuple),
)
entries = st.builds(
    Entry,
    term=small,
    index=small,
    kind=st.sampled_from(EntryKind),
    data=st.one_of(
        st.binary(max_size=3), configurations.map(lambda each: encode_membership(each, b""))
    ),
)


@st.composite
def runs_of_entries(draw: st.DrawFn) -> tuple[int, int, list[Entry]]:
    """A previous index and term, and entries that may really follow it."""
    index, term = draw(small), draw(small)
    found = []
    last = term
    for at in range(draw(st.integers(0, 3))):
        last += draw(st.integers(0, 1))
        found.append(an_entry(last, index + at + 1))
    return index, term, found


def appends(sender: ReplicaId, to: ReplicaId) -> st.SearchStrategy[AppendEntries]:
    plausible = st.builds(
        lambda term, commit, run: AppendEntries(sender, to, term, run[0], run[1], commit, run[2]),
        small,
        numbers,
        runs_of_entries(),
    )
    anything = st.builds(
        AppendEntries,
        sender=st.just(sender),
        to=st.just(to),
        term=small,
        previous_index=numbers,
        previous_term=numbers,
        commit=numbers,
        entries=st.lists(entries, max_size=3),
    )
    return st.one_of(plausible, anything)


def messages(to: ReplicaId) -> st.SearchStrategy[Message]:
    other = st.sampled_from([each for each in map(ReplicaId, range(1, 6)) if each != to])
    both = {"sender": other, "to": st.just(to), "term": small}
    flag = st.booleans()
    return st.one_of(
        st.builds(
            RequestVote, **both, last_index=numbers, last_term=numbers, pre=flag, transfer=flag
        ),
        st.builds(VoteResponse, **both, pre=flag, granted=flag),
        other.flatmap(lambda sender: appends(sender, to)),
        st.builds(
            AppendResponse,
            **both,
            index=numbers,
            rejected=flag,
            hint_index=numbers,
            hint_term=numbers,
        ),
        st.builds(Heartbeat, **both, commit=numbers, round=numbers),
        st.builds(HeartbeatResponse, **both, round=numbers),
        st.builds(
            InstallSnapshot,
            **both,
            snapshot=st.builds(Snapshot, index=numbers, term=numbers, configuration=configurations),
        ),
        st.builds(TimeoutNow, **both),
    )


def started(role: str) -> Cluster:
    cluster = Cluster()
    if role == "leader":
        cluster.elect(1)
        cluster.propose(b"a", b"b")
        cluster[1].read(1)
    elif role == "follower":
        cluster.elect(2)
        cluster.propose(b"a", b"b")
    else:
        cluster[1].campaign()
    return cluster


@settings(max_examples=300, deadline=None)
@given(
    role=st.sampled_from(["leader", "follower", "candidate"]),
    hostile=st.lists(st.one_of(messages(ONE), st.just(None)), max_size=12),
)
def test_no_message_raises_or_undoes_what_is_committed(
    role: str, hostile: list[Message | None]
) -> None:
    cluster = started(role)
    shell = cluster.shells[1]
    votes: dict[int, int] = {}

    for message in hostile:
        before = shell.disk.stored.effects
        if isinstance(message, InstallSnapshot):
            # The shell never steps one whose data has not arrived.
            index = message.snapshot.index
            shell.images[index] = shell.disk.stored.effects
        if message is None:
            for _ in range(20):
                cluster[1].tick()
        else:
            cluster[1].step(message)
        shell.work()
        while shell.flushes:
            shell.flush()

        raft = shell.raft
        assert shell.disk.stored.effects[: len(before)] == before
        assert raft.applied_index <= raft.log.committed <= raft.log.last_index
        assert shell.disk.last_index() == raft.log.last_index
        if raft.vote:
            assert votes.setdefault(raft.term, raft.vote) == raft.vote


@given(data=st.binary(max_size=60))
def test_bytes_are_a_message_or_are_refused(data: bytes) -> None:
    try:
        message = decode_message(data)
    except msgspec.DecodeError:
        return
    assert decode_message(encode_message(message)) == message


@given(message=messages(ONE))
def test_a_message_is_the_same_after_its_journey(message: Message) -> None:
    assert decode_message(encode_message(message)) == message


@pytest.mark.parametrize(
    "message",
    [
        Heartbeat(TWO, THREE, 1, 0, 0),
        Heartbeat(ONE, ONE, 1, 0, 0),
        Heartbeat(ReplicaId(0), ONE, 1, 0, 0),
        Heartbeat(TWO, ONE, 0, 0, 0),
        Heartbeat(TWO, ONE, NUMBER_MAX + 1, 0, 0),
    ],
    ids=["for another", "from itself", "from nobody", "no term", "no such term"],
)
def test_a_message_that_is_not_for_this_replica_or_of_no_term_is_counted(message: Message) -> None:
    raft = Cluster()[1]

    raft.step(message)

    assert raft.ready() is None
    assert raft.ill_formed == 1


@pytest.mark.parametrize(
    "entries",
    [
        [an_entry(1, 2)],
        [an_entry(1, 1), an_entry(1, 3)],
        [an_entry(2, 1), an_entry(1, 2)],
        [an_entry(9, 1)],
    ],
    ids=["a gap before", "a gap within", "terms that fall", "a term to come"],
)
def test_entries_that_cannot_follow_one_another_are_not_appended(entries: list[Entry]) -> None:
    raft = Cluster()[2]

    raft.step(AppendEntries(ONE, TWO, 2, 0, 0, 5, entries))

    assert raft.log.last_index == 0
    assert raft.ill_formed == 1


def test_a_commit_index_beyond_the_log_is_not_believed() -> None:
    cluster = Cluster(logs={2: (1, 1)})

    cluster[2].step(Heartbeat(ONE, TWO, 2, 3, 0))

    assert cluster[2].log.committed == 0


def test_an_acknowledgement_of_what_was_never_sent_commits_nothing() -> None:
    cluster = Cluster()
    cluster.elect(1)

    cluster[1].step(AppendResponse(TWO, ONE, 1, 99))

    assert cluster[1].log.committed == 1
    assert cluster[1].ill_formed == 1
