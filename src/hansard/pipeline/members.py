"""The copies of each bucket, compared with each other: by checksums that members make of what they have on disk, and
change by change where those differ.

A copy may be behind, and may begin later: what is compared is what all members of a bucket have retained and know to be
committed. Who has something else than most is named; of two that differ, it is the one that does not lead.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from hansard.batch import Batch, Change
from hansard.client.errors import ClientError
from hansard.client.operator import AskRefused, NobodyAnswers, Operator
from hansard.wire import request as wire

from .findings import DAMAGED, DIFFERENT, MISSING, SURPLUS, Finding

TRIES: Final = 5
PAUSE_S: Final = 0.5
REPAIR_S: Final = 120.0
LISTED_MAX: Final = 20
"""Changes that are named of one bucket."""
PAGE_BYTES: Final = 4 << 20
PAGE_CHANGES: Final = 10_000
BLOCK: Final = 1024
"""Offsets that have one checksum, as servers make them."""


class Copy(NamedTuple):
    """What a member has of a bucket."""

    node: str
    address: str
    blocks: Mapping[int, tuple[Any, ...]]
    """By their first offsets."""
    damage: Sequence[Mapping[str, Any]]


async def compare(operator: Operator, looked: Callable[[str], None] = lambda _: None) -> tuple[int, list[Finding]]:
    """How many copies were compared, and what is wrong with them."""
    table, status = await operator.ask(ask="table"), await operator.ask(ask="status")
    addresses = {known["node"]: known["address"] for known in status["participants"]}
    copies, findings = 0, list[Finding]()
    for bucket in table["buckets"]:
        if not bucket["level"]:
            continue
        number = bucket["bucket"]
        looked(f"members of bucket {number}")
        leader_first = sorted(bucket["full"], key=lambda node: (node != bucket["leader"], node))
        there = [(node, addresses[node]) for node in leader_first if node in addresses]
        found, troubles = await _copies(operator, number, there)
        findings += troubles
        copies += len(found)
        findings += [_damage(copy, number, damage) for copy in found for damage in copy.damage]
        for copy, block in odd_ones(found):
            findings += await _changes(operator, number, found, copy, block)
    return copies, findings


async def _copies(
    operator: Operator, bucket: int, there: Sequence[tuple[str, str]]
) -> tuple[list[Copy], list[Finding]]:
    """Of all members the same range; and those that cannot say what they have."""
    ranges: dict[str, tuple[int, int]] = {}
    troubles: list[Finding] = []
    for node, address in there:
        try:
            told = await _patiently(operator, address, lambda: {"ask": "digest", "bucket": bucket, "end": 0})
            standing = await operator.ask_at(address, ask="buckets")
            mine = next(copy for copy in standing if copy["bucket"] == bucket and "committed" in copy)
            ranges[node] = (max(told["start"], mine["start"]), mine["committed"])
        except (ClientError, StopIteration) as error:
            troubles.append(Finding(DAMAGED, node, bucket, None, None, f"its copy cannot be looked at: {error}"))
    if not ranges:
        return [], troubles
    first, end = max(start for start, _ in ranges.values()), min(stop for _, stop in ranges.values())
    found: list[Copy] = []
    for node, address in there:
        if node in ranges:
            try:
                found.append(await _copy(operator, node, address, bucket, first, end))
            except ClientError as error:
                troubles.append(Finding(DAMAGED, node, bucket, first, end, f"its copy cannot be looked at: {error}"))
    return found, troubles


async def _copy(operator: Operator, node: str, address: str, bucket: int, first: int, end: int) -> Copy:
    blocks: dict[int, tuple[Any, ...]] = {}
    damage: list[Mapping[str, Any]] = []
    at = first
    while at < end:
        place = at

        def question() -> dict[str, Any]:
            return {"ask": "digest", "bucket": bucket, "first": place, "end": end}  # noqa: B023 (asked at once)

        told = await _patiently(operator, address, question)
        for start, crc, count in told["blocks"]:
            blocks[start] = (*blocks.get(start, ()), crc, count)
        damage += told["damage"]
        if told["end"] <= at:
            break
        at = told["end"]
    return Copy(node, address, blocks, damage)


async def _patiently(operator: Operator, address: str, question: Callable[[], dict[str, Any]]) -> Any:
    """A copy that is just being loaded is there in a moment."""
    for _ in range(TRIES - 1):
        try:
            return await operator.ask_at(address, **question())
        except (AskRefused, NobodyAnswers):
            await asyncio.sleep(PAUSE_S)
    return await operator.ask_at(address, **question())


def odd_ones(copies: Sequence[Copy]) -> list[tuple[Copy, int]]:
    """Who differs from most, and in which blocks; damage is said by itself."""
    found: list[tuple[Copy, int]] = []
    for block in sorted({block for copy in copies for block in copy.blocks}):
        most = Counter(copy.blocks.get(block) for copy in copies).most_common(1)[0][0]
        if len(copies) == 2:
            most = copies[0].blocks.get(block)
        odd = [copy for copy in copies if copy.blocks.get(block) != most and not _is_damaged(copy, block)]
        found += [(copy, block) for copy in odd]
    return found


def _is_damaged(copy: Copy, block: int) -> bool:
    return any(
        damage["first"] is None
        or (damage["first"] < block + BLOCK and (damage["end"] is None or damage["end"] > block))
        for damage in copy.damage
    )


def _damage(copy: Copy, bucket: int, damage: Mapping[str, Any]) -> Finding:
    return Finding(DAMAGED, copy.node, bucket, damage["first"], damage["end"], f"{damage['path']}: {damage['reason']}")


async def _changes(operator: Operator, bucket: int, copies: Sequence[Copy], odd: Copy, block: int) -> list[Finding]:
    """Which changes differ; the whole block, where nobody can show them."""
    good = next(copy for copy in copies if copy is not odd and copy.blocks.get(block) != odd.blocks.get(block))
    try:
        mine, theirs = [await _read(operator, bucket, copy.address, block) for copy in (odd, good)]
    except ClientError as error:
        return [Finding(DIFFERENT, odd.node, bucket, block, block + BLOCK, f"{good.node} has something else: {error}")]
    found: list[Finding] = []
    for offset in sorted({*mine, *theirs}):
        if mine.get(offset) == theirs.get(offset):
            continue
        kind = MISSING if offset not in mine else SURPLUS if offset not in theirs else DIFFERENT
        remark = {MISSING: "has a change there", SURPLUS: "has no change there", DIFFERENT: "has another change there"}
        found.append(Finding(kind, odd.node, bucket, offset, offset + 1, f"{good.node} {remark[kind]}"))
    remark_all = f"{good.node} keeps it in other batches, with the same changes"
    return found[:LISTED_MAX] or [Finding(DIFFERENT, odd.node, bucket, block, block + BLOCK, remark_all)]


async def _read(operator: Operator, bucket: int, address: str, block: int) -> dict[int, Change]:
    """What this member shows of a block."""
    found: dict[int, Change] = {}
    at, end = block, block + BLOCK
    while at < end:
        place = at

        def request(id: int) -> wire.Read:
            return wire.Read(id, bucket, place, 0, PAGE_BYTES, PAGE_CHANGES, end=end)  # noqa: B023 (asked at once)

        page = await operator.exchange_at(address, request)
        if isinstance(page, wire.Gone):
            at = page.start
            continue
        if not isinstance(page, wire.Page):
            raise AskRefused(getattr(page, "reason", type(page).__name__))
        found |= {change.offset: change for change in _in_order(page.batches)}
        if page.at_end or page.end <= at:
            break
        at = page.end
    return found


def _in_order(batches: Sequence[Batch]) -> list[Change]:
    return [change for batch in batches for change in batch.changes()]


async def repair(operator: Operator, looked: Callable[[str], None] = lambda _: None) -> int:
    """Have every participant look for damage now, and mend it with what others have. Returns how many places were
    mended."""
    status = await operator.ask(ask="status")
    addresses = [known["address"] for known in status["participants"]]
    before = {address: (await operator.ask_at(address, ask="status"))["repaired"] for address in addresses}
    for address in addresses:
        await operator.ask_at(address, ask="scrub")
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + REPAIR_S
    mended = 0
    while loop.time() < deadline_s:
        await asyncio.sleep(PAUSE_S)
        told = [await operator.ask_at(address, ask="status") for address in addresses]
        mended = sum(each["repaired"] - before[address] for each, address in zip(told, addresses, strict=True))
        looked(f"{mended} places mended")
        if not any(each["scrub"]["running"] or each["damage_count"] for each in told):
            break
    return mended
