"""What `hansard dump` and `hansard load` do: a whole log out of one cluster, and into another, as it is."""

import asyncio
from pathlib import Path
from typing import Any, Final

from hansard.client.importing import PATIENCE_S, SPARE_CONNECTIONS, Inward, insist
from hansard.client.operator import Operator
from hansard.wire import request as wire

from .chest import ChestReader, ChestWriter, Entry
from .failure import fail
from .output import json_line, size_text, write_lines
from .progress import Progress
from .reach import Reach

PAGE_BYTES: Final = 4 << 20
PAGE_CHANGES: Final = 100_000
RETRY_S: Final = 0.1


def dump(where: Reach, path: Path, *, as_json: bool) -> None:
    footer = asyncio.run(_dump(where, path))
    size = path.stat().st_size
    if as_json:
        write_lines([json_line({"file": str(path), "bytes": size, **footer})])
    else:
        write_lines([f"{footer['changes']:,} changes of {len(footer['ends'])} buckets in {path}, {size_text(size)}"])


async def _dump(where: Reach, path: Path) -> dict[str, Any]:
    async with where.operator(PATIENCE_S) as operator:
        table = await operator.ask(ask="table")
        buckets = len(table["buckets"])
        if not buckets:
            raise fail("the cluster has no buckets yet: there is nothing to dump")
        header = {"log": table["log"], "buckets": buckets, "settings": table["settings"]}
        with ChestWriter(path, header) as chest, Progress("dumping", "changes") as progress:
            out = Outward(operator, chest, progress)
            for bucket in range(buckets):
                await out.bucket(bucket, table["buckets"][bucket]["address"])
            if len((await operator.ask(ask="table"))["buckets"]) != buckets:
                raise fail("the buckets were doubled meanwhile: dump again")
            footer = {
                "ends": out.ends,
                "connections": out.connection + SPARE_CONNECTIONS,
                "changes": out.changes,
                "batches": out.batches,
            }
            chest.finish(footer)
    return footer


class Outward:
    def __init__(self, operator: Operator, chest: ChestWriter, progress: Progress) -> None:
        self._operator = operator
        self._chest = chest
        self._progress = progress
        self.ends: list[int] = []
        self.connection = 0
        """The highest one."""
        self.changes = self.batches = 0

    async def bucket(self, bucket: int, address: str | None) -> None:
        """All that was acknowledged before this, and what is retained of it."""
        offset, follows, linear, at_end = 0, 0, True, False
        address = address or self._operator.addresses[0]
        while not at_end:
            page, address = await self._page(bucket, offset, address, linear=linear)
            if isinstance(page, wire.Gone):
                offset = page.start
                continue
            for batch in page.batches:
                self._chest.put(Entry(bucket, follows, batch))
                follows = batch.closed().header.end_offset  # what is left out of a part does not come
                self.connection = max(self.connection, int(batch.connections.max(initial=0)))
                self.changes += len(batch)
                self.batches += 1
                self._progress.advance(len(batch))
            offset, at_end, linear = page.end, page.at_end, False
        self.ends.append(max(offset, follows))

    async def _page(self, bucket: int, offset: int, address: str, *, linear: bool) -> tuple[wire.Page | wire.Gone, str]:
        """And where it was read."""

        def read(id: int) -> wire.Read:
            return wire.Read(id, bucket, offset, 0, PAGE_BYTES, PAGE_CHANGES, linear=linear)

        async def attempt(address: str) -> tuple[Any, str]:
            answer = await self._operator.exchange_at(address, read)
            return answer, answer.address if isinstance(answer, wire.Elsewhere) else address

        return await insist(self._operator, address, attempt, (wire.Page, wire.Gone), f"bucket {bucket} is not read")


def load(where: Reach, path: Path, *, as_json: bool) -> None:
    done = asyncio.run(carry_in(where, path))
    if as_json:
        write_lines([json_line(done)])
    else:
        write_lines([f"{done['changes']:,} changes are in {done['buckets']} buckets of log {done['log']}; it is open"])


async def carry_in(where: Reach, path: Path) -> dict[str, Any]:
    with ChestReader(path) as chest:
        async with where.operator(PATIENCE_S) as operator:
            table = await _founded(operator)
            there, buckets, log = len(table["buckets"]), chest.header["buckets"], chest.header["log"]
            if table["log"] != log:
                how = f"found an empty one with: hansard start --found --importing {log}"
                raise fail(f"{path} is of log {log}, and this cluster has {table['log']}: {how}")
            if there < buckets or there % buckets:
                raise fail(f"{path} has {buckets} buckets, and the cluster {there}: it needs as many, or twice as many")
            addresses = [bucket["address"] for bucket in table["buckets"]]
            inward, done = Inward(operator, addresses), 0
            with Progress("loading", "bytes", total=chest.size) as progress:
                for entry in chest.entries():
                    for bucket in range(entry.bucket, there, buckets):
                        await inward.bring(bucket, entry.batch, entry.follows)
                    progress.advance(chest.position - done)
                    done = chest.position
            ends = [chest.footer["ends"][bucket % buckets] for bucket in range(there)]
            for bucket, end in enumerate(ends):
                await inward.cover(bucket, end)
            finish = {"type": "finish", "connections": chest.footer["connections"], "ends": ends}
            await operator.order(finish, wait_s=PATIENCE_S)
    return {"log": log, "buckets": there, "changes": chest.footer["changes"]}


async def _founded(operator: Operator) -> Any:
    """The table, once there are buckets in it."""
    deadline_s = asyncio.get_running_loop().time() + PATIENCE_S
    while not (table := await operator.ask(ask="table"))["buckets"]:
        if asyncio.get_running_loop().time() > deadline_s:
            raise fail("the cluster has no buckets yet: start as many participants as its founding waits for")
        await asyncio.sleep(RETRY_S)
    return table
