"""Which files of checkpoints may go: those that no checkpoint has any more which somebody may still be loading.

A checkpoint stays while it is the newest of its subject, or one of the last few, or young; and for a while after it was
followed by another: who has found it then may still be reading it. What is left of runs that came to nothing goes as
soon as their number is settled, because before that their `end` could still be the first.

Folders are listed before records are read. A run writes its `start` before its first file, so whatever is listed has
its start in what is read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hansard.checkpoint import Docket
from hansard.client import Client

from .building import BUILDS
from .folder import Folder
from .records import Register

DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Policy:
    keep: int = 2
    """So many of the last checkpoints of each subject stay, whatever their age."""
    age_s: float = 0.0
    """And those that are younger than this."""
    grace_s: float = DAY_S
    """And each for so long after it is none of these any more."""


def needed(docket: Docket, location: str, policy: Policy, now_us: int) -> set[str]:
    """The paths of the layers, at a location, that have to stay for one subject's sake."""
    paths: set[str] = set()
    last = len(docket.ends)
    for place, filed in enumerate(docket.ends):
        # It was one of the last few until as many others had come.
        successor = place + policy.keep
        gone_us = docket.ends[successor].timestamp_us if successor < last else None
        gone_us = None if gone_us is None else max(gone_us, filed.timestamp_us + int(policy.age_s * 1e6))
        if (gone_us is None or now_us < gone_us + policy.grace_s * 1e6) and filed.record.location == location:
            paths.update([layer.path for layer in filed.record.layers])
    return paths


def expired(
    listed: Iterable[str], dockets: Mapping[str, Docket], location: str, policy: Policy, now_us: int
) -> list[str]:
    """Of these folders those that may go, sorted."""
    stay = {path for docket in dockets.values() for path in needed(docket, location, policy, now_us)}
    unsettled = {id for docket in dockets.values() for id in docket.unsettled}
    return sorted([path for path in listed if path not in stay and path.split("/")[1] not in unsettled])


def sweep(folder: Folder, client: Client, policy: Policy) -> int:
    """Removes them, and says how many they were."""
    ids = folder.names(BUILDS)
    listed = [f"{BUILDS}/{id}/{name}" for id in ids for name in folder.names(f"{BUILDS}/{id}")]
    empty = [f"{BUILDS}/{id}" for id in ids if not any(path.startswith(f"{BUILDS}/{id}/") for path in listed)]
    register = Register(client)
    gone = expired([*listed, *empty], register.dockets, folder.root, policy, register.now_us)
    for path in gone:
        folder.remove(path)
    for id in {path.split("/")[1] for path in gone}:
        if not folder.names(f"{BUILDS}/{id}"):
            folder.remove(f"{BUILDS}/{id}")
    return len(gone)
