"""Submitting to clusters of real processes: spread over buckets, stored once and in order, whatever is done to them."""

import asyncio
from pathlib import Path

from hansard.batch import build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.client import AsyncClient
from tests.client.countdown import Counting, addresses, grown
from tests.cluster.company import Company
from tests.server.trio import run

TIMEOUT_S = 30.0


async def connected(company: Company) -> AsyncClient:
    return await AsyncClient.connect(addresses(company), timeout_s=TIMEOUT_S)


def test_changes_are_spread_over_the_buckets_of_their_keys(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company, await connected(company) as client:
            assert (client.buckets, client.log_id) == (4, "a-log")
            keys = [f"key {number}" for number in range(200)]
            receipts = await asyncio.gather(*[client.submit(key, {"key": key}) for key in keys])
            assert [receipt.bucket for receipt in receipts] == [bucket_of(key_hash(key.encode()), 4) for key in keys]
            many = await client.submit_many(keys, keys)
            assert [receipt.bucket for receipt in many] == [receipt.bucket for receipt in receipts]
            found = {change.key: change async for change in client.read(until=await client.bookmark())}
            assert len(found) == 200
            for key, receipt in zip(keys, many, strict=True):
                change = found[key.encode()]
                assert (change.bucket, change.offset, change.text) == (receipt.bucket, receipt.offset, key)

    run(test(), timeout_s=120)


def test_a_thousand_single_changes_are_a_few_batches(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company, await connected(company) as client:
            await client.submit("first", "so that there are ways to the leaders")
            await asyncio.gather(*[client.submit(f"key {number}", "v") for number in range(1_000)])
            assert client._submitter is not None
            sent = next(client._submitter._tally.ids) - 1
            assert sent <= 1 + 3 * 4, f"{sent} batches"

    run(test(), timeout_s=120)


def test_each_leader_is_sent_its_own(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 8) as company, await connected(company) as client:
            await client.submit_many([f"key {number}" for number in range(200)], ["v"] * 200)
            table = await company.ask("a", ask="table")
            leaders = {record["bucket"]: record["address"] for record in table["buckets"]}
            assert client._submitter is not None and len(set(leaders.values())) == 3
            couriers = {bucket: lane.courier for bucket, lane in client._submitter.lanes.items()}
            assert {bucket: vars(courier)["_address"] for bucket, courier in couriers.items()} == leaders

    run(test(), timeout_s=120)


def test_every_participant_is_killed_under_load(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company, await connected(company) as client:
            counting = Counting(client)
            work = asyncio.create_task(counting.run())
            for victim in "abc":
                await company.until(grown(counting), "nothing is stored")
                company.kill(victim)
                await company.until(grown(counting), f"nothing is stored without {victim}")
                await company.start(victim)
                await company.settled()
            counting.stop = True
            await work
            counting.check([change async for change in client.read()])

    run(test(), timeout_s=180)


def test_buckets_are_doubled_twice_under_load(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company, await connected(company) as client:
            counting = Counting(client, keys=24)
            work = asyncio.create_task(counting.run())
            for number, to in enumerate((4, 16)):
                await company.until(grown(counting), "nothing is stored")
                await company.order("b", f"double {number}", type="double", to=to)
            await company.until(grown(counting), "nothing is stored")
            counting.stop = True
            await work
            assert client.buckets == 16
            assert len({receipt.bucket for receipt in counting.receipts.values()}) > 8
            counting.check([change async for change in client.read()])

    run(test(), timeout_s=180)


def test_a_doubling_and_a_kill_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company, await connected(company) as client:
            counting = Counting(client, keys=16)
            work = asyncio.create_task(counting.run())
            await company.until(grown(counting), "nothing is stored")
            order = asyncio.create_task(company.order("a", "double", type="double", to=8))
            company.kill("c")
            await company.until(grown(counting), "nothing is stored")
            await company.start("c")
            await order
            await company.settled()
            counting.stop = True
            await work
            counting.check([change async for change in client.read()])

    run(test(), timeout_s=180)


def test_who_has_a_name_gets_its_number_back_and_what_it_numbers_is_stored_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            keys, numbers = [f"key {number}" for number in range(100)], []
            for _ in range(2):
                async with await AsyncClient.connect(addresses(company), name="sink") as client:
                    numbers.append(client.connection)
                    stream = {"connection": client.connection, "previous_series": -1}
                    batch = build(keys, keys, first_series=500, **stream)  # type: ignore[arg-type]
                    for _ in range(2):
                        assert len(await client.submit_batch(batch)) == 100
                    assert len([change async for change in client.read()]) == 100
            assert numbers[0] == numbers[1]
            async with await AsyncClient.connect(addresses(company)) as other:
                assert other.connection != numbers[0]

    run(test(), timeout_s=120)
