"""Whatever comes in at the port, from whomever: nobody ends, nothing leaks, nothing is lost, nobody else notices."""

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.cluster.checker import Checker
from tests.cluster.company import Company
from tests.cluster.rubbish import Rubbish, throw
from tests.cluster.test_life import checked
from tests.server.trio import run

COUNT = 240
AT_ONCE = 6


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def open_files(pid: int) -> list[str]:
    found = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed while we look
            found.append(path.readlink().name.partition(":")[0])
    return sorted(found)


async def quiet(pids: list[int]) -> list[list[str]]:
    """What each has open, when that has been the same for a while."""
    found, times = [[""]], 0
    while times < 10:
        before, found = found, [open_files(pid) for pid in pids]
        times = times + 1 if found == before else 0
        await asyncio.sleep(0.05)
    return found


async def thrown(company: Company, seed: int, count: int) -> None:
    status = await company.ask("a", ask="status")
    rubbish = Rubbish(seed, cluster=status["cluster"])
    for number in range(count):
        kind = (rubbish.client, rubbish.participant, rubbish.client, rubbish.stranger)[number % 4]
        await throw(company.addresses["abc"[number % 3]], kind())
        assert all(process.is_alive() for process in company.running.values()), f"seed {seed}, number {number}"


def test_rubbish_harms_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            pids = [process.pid or 0 for process in company.running.values()]
            files = await quiet(pids)
            checker = Checker(company, "x")
            await asyncio.gather(checker.run(50), *[thrown(company, 100 + seed, 20) for seed in range(AT_ONCE)])
            memory = [resident_bytes(pid) for pid in pids]
            again = [thrown(company, seed, COUNT // AT_ONCE) for seed in range(AT_ONCE)]
            await asyncio.gather(checker.run(150), *again)
            await company.settled()

            async def closed() -> bool:
                return [open_files(pid) for pid in pids] == files

            await company.until(closed, f"not all that was opened is closed: before, it was {files}")
            grown = [resident_bytes(pid) - before for pid, before in zip(pids, memory, strict=True)]
            assert max(grown) < 48 << 20, [each >> 20 for each in grown]
            assert [process.pid for process in company.running.values()] == pids
            assert "Traceback" not in "".join(company.log(name) for name in "abc")
            await checked(company, [checker])

    run(test(), timeout_s=120)
