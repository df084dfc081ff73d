"""The faults that a seed may have, named as they are counted."""

from __future__ import annotations

from enum import StrEnum


class Trouble(StrEnum):
    DROP = "drop"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    DELAY = "delay"
    PARTITION = "partition"
    ONE_WAY = "one way"
    FLAP = "flap"
    PAUSE = "pause"
    CRASH = "crash"
    TORN = "torn tail"
    POWER = "power loss"
    FLUSH_ERROR = "flush error"
    WIPE = "wipe"
    STALL = "write stall"
    SLOW_DISK = "slow disk"
    LOW_DISK = "low disk"
    CLOCK = "clock jump"
    SLOW_TICKS = "slow ticks"
    TRANSFER = "transfer"
    MEMBERSHIP = "membership"
    ROUTER = "router crash"
    ROUTER_PAUSE = "router pause"
