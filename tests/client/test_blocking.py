"""The client for programs without a loop, and the producer, on a cluster of real processes."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import hansard
from hansard.client import Client, ClientClosed, NotReachable, Producer, Receipt, WrongType
from hansard.client.library import Library
from tests.client.countdown import Background, addresses
from tests.client.fake import until
from tests.cluster.company import Company

TIMEOUT_S = 30.0


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with Background(tmp_path_factory.mktemp("cluster")) as company:
        yield company


def connected(company: Company) -> Client:
    return hansard.Client.connect(addresses(company), timeout_s=TIMEOUT_S)


def test_it_submits_and_reads_as_the_other_one_does(company: Company) -> None:
    with connected(company) as client:
        here = client.bookmark()
        receipt = client.submit("k", {"plan": "pro"}, ["tenant:acme"])
        client.submit_many(["l", "m"], ["1", [2, 3]], [["tenant:acme"], []])
        page = client.page(since=here)
        assert len(page.changes) == 3 and page.at_end
        assert (receipt.bucket, receipt.offset) in [(change.bucket, change.offset) for change in page.changes]
        assert sorted(change.key or b"" for change in client.read(since=here, tags=["tenant:acme"])) == [b"k", b"l"]
        follow = client.follow(since=here, name="blocking")
        assert sorted(next(follow).key or b"" for _ in range(3)) == [b"k", b"l", b"m"]
        place = follow.commit()
        client.submit("n", "4")
        again = client.follow(name="blocking")
        assert next(again).key == b"n" and client.page(since=place).changes[0].key == b"n"
        client.let_go("blocking")
        assert client.buckets == 4 and client.connection > 0 and client.log_id == "a-log"


def test_many_threads_share_one_and_each_keeps_its_order(company: Company) -> None:
    with connected(company) as client, ThreadPoolExecutor(16) as pool:
        here = client.bookmark()

        def count(thread: int) -> None:
            for number in range(50):
                client.submit(f"thread {thread}", number)

        list(pool.map(count, range(16)))
        for thread in range(16):
            found = [change.json() for change in client.read(since=here, key=f"thread {thread}")]
            assert found == list(range(50))


def test_who_waits_when_it_is_closed_is_told_and_nobody_comes_after(company: Company) -> None:
    client = connected(company)
    follow = client.follow(since=client.bookmark())
    told: list[BaseException] = []

    def wait() -> None:
        try:
            next(follow)
        except ClientClosed as error:
            told.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    follow.begin()
    client.close()
    client.close()
    thread.join(TIMEOUT_S)
    assert not thread.is_alive() and len(told) == 1
    with pytest.raises(ClientClosed):
        client.submit("k", "v")


def test_ctrl_c_ends_the_waiting_and_the_client_can_still_be_used(company: Company) -> None:
    with connected(company) as client:
        follow = client.follow(since=client.bookmark())

        def interrupt() -> None:
            library = client._client._library
            assert isinstance(library, Library)
            while not any(any(tide._waiting.values()) for tide in list(library._tides.values())):
                threading.Event().wait(0.001)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            next(follow)
        thread.join(TIMEOUT_S)
        client.submit("k", "after")
        assert next(follow).text == "after"


def test_nobody_there_and_nonsense_are_said(company: Company) -> None:
    with pytest.raises(NotReachable):
        hansard.Client.connect(["127.0.0.1:1"], timeout_s=0.3)
    with connected(company) as client:
        with pytest.raises(WrongType):
            client.submit("k", object())  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="limit"):
            client.page(limit=0)


# The producer.


def test_leaving_a_producer_has_everything_stored_in_order(company: Company) -> None:
    with connected(company) as client:
        here = client.bookmark()
        with client.producer(window=500) as producer:
            for number in range(3_000):
                producer.put(f"p{number % 7}", number)
        for key in range(7):
            found = [change.json() for change in client.read(since=here, key=f"p{key}")]
            assert found == list(range(key, 3_000, 7))


def test_what_is_put_is_stored_though_nobody_puts_more(company: Company) -> None:
    with connected(company) as client:
        here = client.bookmark()
        with client.producer() as producer:
            producer.put("k", "alone")
            assert [change.text for change in client.page(since=here, block_s=TIMEOUT_S).changes] == ["alone"]


def test_a_producer_yields_receipts_in_order_and_waits_when_its_window_is_full(company: Company) -> None:
    async def test() -> None:
        async with await hansard.AsyncClient.connect(addresses(company), timeout_s=TIMEOUT_S) as client:
            here = await client.bookmark()
            taken: list[Receipt] = []

            async def take() -> None:
                taken.extend([receipt async for receipt in producer])

            async with client.producer(window=100, linger_s=0.001, receipts=True) as producer:
                putting = asyncio.create_task(_put(producer, 1_000))
                await until(lambda: producer._count == 100 and not producer._tasks)
                assert not putting.done(), "the window is full, and nobody takes receipts"
                taking = asyncio.create_task(take())
                await putting
            await taking
            assert len(taken) == producer.stored == 1_000
            places = [(receipt.bucket, receipt.offset) for receipt in taken]
            found = {(change.bucket, change.offset): change.json() async for change in client.read(since=here)}
            assert [found[place] for place in places if place[1] is not None] == list(range(1_000))  # type: ignore[index]
            with pytest.raises(ValueError, match="closed"):
                await producer.put("k", "v")
            with pytest.raises(ValueError, match="receipts"):
                aiter(client.producer())

    asyncio.run(test())


async def _put(producer: Producer, count: int) -> None:
    for number in range(count):
        await producer.put(f"k{number}", number)


def test_what_is_not_stored_is_raised_by_the_producer(company: Company) -> None:
    async def test() -> None:
        client = await hansard.AsyncClient.connect(addresses(company), timeout_s=TIMEOUT_S)
        producer = client.producer(linger_s=10)
        await producer.put("k", "v")
        await client.close()
        with pytest.raises(ClientClosed):
            await producer.flush()
        with pytest.raises(ClientClosed):
            await producer.put("k", "v")

    asyncio.run(test())
