"""What is done to a cluster. Each fault says when it began, and what it did to whom."""

from __future__ import annotations

import time

from tests.faults.clusters.trial import Trial
from tests.support.cutter import Direction

PAUSE_S = 30.0
# Long enough for others to be elected, and too short for connections to be given up: who slept is still believed.
NAP_S = 4.0
CUT_S = 8.0
# Before a paused node wakes: these reads are the first thing it sees.
PEEK_BEFORE_S = 0.3
PEEK_AFTER_S = 1.0
# After a kill, before the node comes back.
DOWN_S = 1.0

Done = tuple[float, str]


def kill(trial: Trial) -> Done:
    """kill -9 of a node that leads."""
    name = trial.leader()
    began = time.monotonic()
    trial.cluster.kill(name)
    trial.await_writes(began)
    time.sleep(DOWN_S)
    trial.cluster.start(name)
    return began, f"kill -9 of {name}"


def blackout(trial: Trial) -> Done:
    """kill -9 of all nodes at once."""
    began = time.monotonic()
    trial.cluster.kill(*trial.cluster.nodes)
    trial.cluster.start(*trial.cluster.nodes)
    return began, "kill -9 of all nodes"


def pause(trial: Trial) -> Done:
    """SIGSTOP of a node that leads for long, then SIGCONT."""
    return _sleep(trial, PAUSE_S)


def nap(trial: Trial) -> Done:
    """SIGSTOP for as long as an election takes."""
    return _sleep(trial, NAP_S)


def _sleep(trial: Trial, pause_s: float) -> Done:
    name = trial.leader()
    # The router that is not asked otherwise knows this leader, and will ask it first.
    trial.tell("peek")
    time.sleep(PEEK_AFTER_S)
    began = time.monotonic()
    trial.cluster.pause(name)
    try:
        time.sleep(pause_s - PEEK_BEFORE_S)
        trial.tell("peek")
        time.sleep(PEEK_BEFORE_S)
    finally:
        trial.cluster.resume(name)
    trial.tell("peek")
    time.sleep(PEEK_AFTER_S)
    return began, f"SIGSTOP of {name} for {pause_s:g} s"


def cut(trial: Trial) -> Done:
    """The network between a node that leads and others says nothing for a while."""
    name = trial.leader()
    apart = [(name, node) for node in trial.cluster.nodes if node != name]
    ways = {
        "cut off from everybody": [*apart, *((router, name) for router in trial.cluster.routers)],
        # Routers go on asking a leader that nobody follows.
        "cut off from the other nodes": apart,
        "cut off from one node": [trial.random.choice(apart)],
    }
    way = trial.random.choice(list(ways))
    return _cut(trial, name, way, ways[way])


def cut_from_routers(trial: Trial) -> Done:
    """Routers that clients use do not reach a node that leads, and goes on leading."""
    name = trial.leader()
    *routers, _ = trial.cluster.routers
    return _cut(trial, name, "cut off from routers", [(router, name) for router in routers])


def _cut(trial: Trial, name: str, way: str, pairs: list[Direction]) -> Done:
    assert trial.cutter is not None
    how = trial.random.choice(("", ", not heard", ", hears nothing"))
    directions = [one for a, b in pairs for one in ((a, b), (b, a))]
    if how == ", not heard":
        directions = [one for one in directions if one[0] == name]
    elif how == ", hears nothing":
        directions = [one for one in directions if one[1] == name]
    trial.tell("peek")
    time.sleep(PEEK_AFTER_S)
    began = time.monotonic()
    trial.cutter.cut(*directions)
    try:
        time.sleep(CUT_S - PEEK_BEFORE_S)
        trial.tell("peek")
        time.sleep(PEEK_BEFORE_S)
    finally:
        trial.cutter.heal()
    trial.tell("peek")
    time.sleep(PEEK_AFTER_S)
    return began, f"{name} {way}{how} for {CUT_S:g} s"


def wipe(trial: Trial) -> Done:
    """A node loses its disk, and comes back empty."""
    name = trial.random.choice(trial.cluster.nodes)
    began = time.monotonic()
    trial.cluster.kill(name)
    trial.cluster.wipe(name)
    trial.await_writes(began)
    time.sleep(DOWN_S)
    trial.cluster.start(name)
    return began, f"{name} killed and wiped"
