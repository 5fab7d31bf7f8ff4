"""What `hansard doctor` looks at, and what it makes of it: rules over what a cluster says of itself."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from statistics import median
from typing import Any, Final, NamedTuple

from .survey import Survey

CLOCK_MS_MAX: Final = 250.0
"""A leader stamps within a quarter of a second of the cluster's time: beyond it a clock is wrong."""
LAG_MS_MAX: Final = 300.0
"""A process that did nothing for so long is in danger of losing its lease."""
FREE_SHARE_MIN: Final = 0.1
"""Of a disk."""


class Verdict(StrEnum):
    WELL = "well"
    ODD = "odd"
    """It works, and somebody should know."""
    BAD = "bad"


class Finding(NamedTuple):
    verdict: Verdict
    subject: str
    found: str
    remedy: str = ""


def findings(now: Survey) -> list[Finding]:
    found: list[Finding] = []
    for look in (_reached, _versions, _council, _buckets, _disks, _clocks, _loops, _ways, _settings):
        found += look(now)
    return found


def _reached(now: Survey) -> Iterator[Finding]:
    for each in now.participants:
        if each.status is None:
            remedy = "look at its log, start it again, or give it up: hansard leave " + each.node
            yield Finding(
                Verdict.BAD, "reachable", f"{each.node} does not answer at {each.address}: {each.trouble}", remedy
            )
    there = [each.node for each in now.participants if each.status is not None]
    yield Finding(Verdict.WELL, "reachable", f"{', '.join(there)} answer")


def _versions(now: Survey) -> Iterator[Finding]:
    tables = {each.status["version"] for each in now.participants if each.status is not None}
    logs = {(each.status["cluster"], each.status["log"]) for each in now.participants if each.status is not None}
    if len(logs) > 1:
        yield Finding(
            Verdict.BAD, "one cluster", "they are of different clusters", "give each the addresses of its own only"
        )
    software = sorted({str(each.status.get("software")) for each in now.participants if each.status is not None})
    if len(software) > 1:
        remedy = "that is fine for a while: bring all to the newest"
        yield Finding(Verdict.ODD, "versions", f"they run {', '.join(software)}", remedy)
    elif software:
        yield Finding(Verdict.WELL, "versions", f"all run hansard {software[0]}")
    if len(tables) > 1 and max(tables) - min(tables) > 10:
        yield Finding(
            Verdict.ODD, "one table", f"tables from {min(tables)} to {max(tables)}", "who is behind may be overloaded"
        )
    yield Finding(Verdict.WELL, "one table", f"version {max(tables, default=0)}")


def _council(now: Survey) -> Iterator[Finding]:
    atomic = now.status["atomic"]
    voters = atomic["voters"]
    if not atomic["leader"]:
        yield Finding(
            Verdict.BAD,
            "atomic log",
            "nobody leads it",
            "start more of its voters; see docs/recover.md if they are lost",
        )
    elif len(voters) < 3:
        yield Finding(
            Verdict.ODD,
            "atomic log",
            f"{len(voters)} of its voters are there: none may be lost",
            "have three participants or more",
        )
    else:
        yield Finding(Verdict.WELL, "atomic log", f"led by {atomic['leader']}, {len(voters)} voters")


def _buckets(now: Survey) -> Iterator[Finding]:
    status = now.status
    if not status["buckets"]:
        yield Finding(
            Verdict.BAD, "buckets", "there are none yet", "start as many participants as the founding waits for"
        )
        return
    for lost in status["lost"]:
        who = " or ".join(lost["nodes"]) or "who had it"
        yield Finding(Verdict.BAD, "buckets", f"bucket {lost['bucket']} is lost", f"start {who}: it is on that disk")
    if status["thinned"]:
        least = min(thinned["copies"] for thinned in status["thinned"])
        yield Finding(
            Verdict.BAD if least <= 1 else Verdict.ODD,
            "buckets",
            f"{len(status['thinned'])} have fewer copies than wanted, the least has {least}",
            "start who is gone, or another participant, which takes its place",
        )
    if not status["lost"] and not status["thinned"]:
        yield Finding(Verdict.WELL, "buckets", f"all {status['buckets']} have all their copies")


def _disks(now: Survey) -> Iterator[Finding]:
    well = True
    for node, status in _statuses(now):
        if status.get("read_only"):
            well = False
            yield Finding(Verdict.BAD, "disks", f"{node} is read-only: {status['read_only']}", "make room on its disk")
        if status.get("damaged"):
            well = False
            yield Finding(
                Verdict.ODD,
                "disks",
                f"{node}'s is damaged in {len(status['damaged'])} places",
                "others mend it; watch it",
            )
        free = status["disk_free_bytes"] / status["disk_bytes"] if status.get("disk_bytes") else 1.0
        if free < FREE_SHARE_MIN:
            well = False
            remedy = "make room, or keep less: docs/guides/retention.md"
            yield Finding(Verdict.ODD, "disks", f"{node}'s has {free:.0%} left", remedy)
    if well:
        yield Finding(Verdict.WELL, "disks", "all can be written to, and have room")


def _clocks(now: Survey) -> Iterator[Finding]:
    ahead = {each.node: each.ahead_ms for each in now.participants if each.status is not None}
    if not ahead:
        return
    middle = median(ahead.values())
    offsets = {node: offset - middle for node, offset in ahead.items()}
    wrong = {node: offset for node, offset in offsets.items() if abs(offset) > CLOCK_MS_MAX}
    for node, offset in wrong.items():
        side = "ahead of" if offset > 0 else "behind"
        yield Finding(Verdict.ODD, "clocks", f"{node}'s is {abs(offset):,.0f} ms {side} the others'", "have NTP set it")
    if not wrong:
        most = max(map(abs, offsets.values()))
        yield Finding(Verdict.WELL, "clocks", f"{most:.0f} ms from their median at the most")
    if abs(middle) > CLOCK_MS_MAX:
        yield Finding(
            Verdict.ODD, "clocks", f"this machine's is {abs(middle):,.0f} ms from theirs", "have NTP set this one, too"
        )


def _loops(now: Survey) -> Iterator[Finding]:
    lags = {node: status.get("loop_lag_max_ms", 0.0) for node, status in _statuses(now)}
    for node, lag in lags.items():
        if lag > LAG_MS_MAX:
            remedy = "its machine is too busy: give it more room, or fewer leads"
            yield Finding(Verdict.ODD, "pace", f"{node} did nothing for {lag:.0f} ms within the last minute", remedy)
    if lags and max(lags.values()) <= LAG_MS_MAX:
        yield Finding(Verdict.WELL, "pace", f"nobody was held up for more than {max(lags.values()):.0f} ms")


def _ways(now: Survey) -> Iterator[Finding]:
    addresses = {each.address for each in now.participants if each.status is not None}
    well = True
    for each in now.participants:
        reached = (each.status or {}).get("connected", {})
        missing = sorted(addresses - {each.address} - {address for address, node in reached.items() if node})
        if each.status is not None and missing:
            well = False
            found = f"{each.node} does not reach {', '.join(missing)}"
            yield Finding(Verdict.BAD, "ways", found, "look at firewalls, and at what each is told to advertise")
    if well:
        yield Finding(Verdict.WELL, "ways", "everybody reaches everybody")


def _settings(now: Survey) -> Iterator[Finding]:
    settings, there = now.table["settings"], len(now.participants)
    if settings["replication"] > there:
        yield Finding(
            Verdict.ODD,
            "settings",
            f"replication is {settings['replication']}, and {there} participants are there",
            "start more participants",
        )
    if settings["replication"] < 2:
        yield Finding(
            Verdict.ODD, "settings", "there is one copy of everything", "a lost disk loses data: replicate to 3"
        )
    zones = {each.zone for each in now.participants}
    if len(zones) > 1 and "" in zones:
        yield Finding(
            Verdict.ODD, "settings", "some have a zone and some have none", "give --zone to all, or to nobody"
        )
    yield Finding(Verdict.WELL, "settings", f"replication {settings['replication']}, shape {settings['shape']}")


def _statuses(now: Survey) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in now.participants:
        if each.status is not None:
            yield each.node, each.status
