"""What is going on in a cluster, gathered from everybody who takes part: the material of `status`, `table`, `buckets`
and `doctor`.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hansard.client.operator import Operator


class Participant(NamedTuple):
    node: str
    address: str
    zone: str
    status: Mapping[str, Any] | None
    """What it says of itself; None if it does not answer."""
    copies: Sequence[Mapping[str, Any]]
    trouble: str
    """Why it does not answer."""
    ahead_ms: float = 0.0
    """How far its clock is ahead of ours, as far as that can be told from how long it took to answer."""

    @property
    def leads(self) -> int:
        return sum(bool(copy.get("leads")) for copy in self.copies)


class Move(NamedTuple):
    """A bucket that somebody is brought up to date for, or that changes hands."""

    bucket: int
    state: str
    newcomers: tuple[str, ...]
    share: float
    """How much of it the slowest newcomer has, from 0 to 1."""


class Survey(NamedTuple):
    status: Mapping[str, Any]
    """As one of them sees the cluster."""
    table: Mapping[str, Any]
    participants: tuple[Participant, ...]
    at_s: float

    @property
    def buckets(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.table["buckets"]
        return found

    @property
    def leading(self) -> dict[int, Mapping[str, Any]]:
        """Of each bucket the copy of its leader."""
        return {copy["bucket"]: copy for each in self.participants for copy in each.copies if copy.get("leads")}

    @property
    def committed(self) -> int:
        """How far the buckets are, all together."""
        return sum(copy["committed"] for copy in self.leading.values())

    def lag(self, participant: Participant) -> int:
        """How many offsets its copies are behind their leaders."""
        leading = self.leading
        ends = [(copy.get("synced", 0), leading.get(copy["bucket"])) for copy in participant.copies]
        return sum([max(0, leader["end"] - synced) for synced, leader in ends if leader is not None])

    def moves(self) -> list[Move]:
        return [self._move(bucket) for bucket in self.buckets if bucket["state"] in ("expanding", "switching")]

    def _move(self, bucket: Mapping[str, Any]) -> Move:
        number = bucket["bucket"]
        leader = self.leading.get(number)
        end = leader["end"] if leader is not None else 0
        ends = {
            each.node: copy.get("end", 0)
            for each in self.participants
            for copy in each.copies
            if copy["bucket"] == number
        }
        shares = [min(1.0, ends.get(node, 0) / end) for node in bucket["newcomers"] if end]
        return Move(number, bucket["state"], tuple(bucket["newcomers"]), min(shares, default=0.0))


async def survey(operator: "Operator") -> Survey:
    """Everybody is asked at once; who does not answer is in it, too."""
    status = await operator.ask(ask="status")
    table = await operator.ask(ask="table")
    asked = [_participant(operator, known) for known in status["participants"]]
    return Survey(status, table, tuple(await asyncio.gather(*asked)), time.monotonic())


async def _participant(operator: "Operator", known: Mapping[str, Any]) -> Participant:
    from hansard.client.errors import ClientError  # noqa: PLC0415
    from hansard.client.operator import NobodyAnswers  # noqa: PLC0415

    node, address, zone = known["node"], known["address"], known["zone"]
    try:
        copies = await operator.ask_at(address, ask="buckets")
        began_s = time.time()
        status = await operator.ask_at(address, ask="status")
        middle_s = (began_s + time.time()) / 2
    except NobodyAnswers as error:
        return Participant(node, address, zone, None, (), error.troubles[address])
    except ClientError as error:
        return Participant(node, address, zone, None, (), str(error))
    ahead_ms = status["wall_us"] / 1000 - 1000 * middle_s if "wall_us" in status else 0.0
    return Participant(node, address, zone, status, copies, "", ahead_ms)
