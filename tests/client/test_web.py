"""Over HTTP: what is sent, what an answer means, and where it is sent next. The other side does as it is told."""

import asyncio
import json
import ssl
from pathlib import Path

import pytest

from hansard.batch import build
from hansard.client import (
    AsyncClient,
    ClientError,
    DeadlinePassed,
    InvalidSubmission,
    NoRoom,
    NotReachable,
    OutcomeUnknown,
    Overloaded,
    PartlyStored,
    Receipt,
    SeriesGap,
    StreamBroken,
)
from hansard.client.web.address import Origin, origin_of, proxy_of
from tests.client.fake import until
from tests.client.office import Answer, Office, Request, Step, hang_up, in_lane, problem, store, store_and_hang_up
from tests.server.papers import files, papers, trusting
from tests.server.trio import free_addresses, run

TIMESTAMP = 1_794_916_800_000_000
SHORT_S = 0.8
"""Of deadlines that are to pass."""


def test_what_comes_together_goes_together_and_each_gets_its_receipt() -> None:
    async def test() -> None:
        async with Office() as office, await office.connect() as client:
            receipts = await asyncio.gather(*[client.submit(f"k{number}", number, ["t"]) for number in range(1000)])
            assert receipts == [Receipt(0, number, TIMESTAMP) for number in range(1000)]
            await client.submit("k", b"\x00\xff")
            assert [(request.series, len(request.rows)) for request in office.submits] == [(0, 1000), (1000, 1)]
            assert office.stored[-1] == {"key": b"k", "value": b"\x00\xff", "tags": []}
            one = office.submits[1].headers
            assert one["hansard-connection"] == "7" and one["hansard-cluster"] == "c1"
            assert "hansard-previous" not in one and 9 < float(one["hansard-deadline"]) <= 10

    run(test())


def test_lanes_are_under_way_at_once_and_one_lane_has_one_request() -> None:
    async def test() -> None:
        async with Office(lanes=2) as office, await office.connect() as client:
            office.held.clear()
            first = [asyncio.create_task(client.submit(key, "1")) for lane in (0, 1) for key in in_lane(lane, 2)]
            await until(lambda: len(office.submits) == 2)
            second = [asyncio.create_task(client.submit(key, "2")) for lane in (0, 1) for key in in_lane(lane, 2)]
            await asyncio.sleep(0.05)
            assert len(office.submits) == 2, "a second one of the same lane may arrive before the first"
            office.held.set()
            await asyncio.gather(*first, *second)
            assert [row["value"] for row in office.stored] == [b"1", b"1", b"2", b"2"]

    run(test())


@pytest.mark.parametrize(
    "step",
    [
        store_and_hang_up,
        hang_up,
        problem("unknown", 504, stored="unknown"),
        problem("failed", 500, stored="unknown"),
        problem("busy", 503, stored="no"),
        problem("not-ready", 503, stored="no"),
        problem("too-many", 429, stored="no"),
        lambda _request, _office: b"HTTP/1.1 502 X\r\nContent-Length: 3\r\n\r\nno!",
        lambda _request, _office: b"HTTP/1.1 403 X\r\nContent-Length: 3\r\n\r\nno!",
        lambda _request, _office: b"SSH-2.0-OpenSSH\r\n",
        lambda _request, _office: (201, {"receipts": []}),
    ],
)
def test_what_may_be_sent_again_is_sent_again_under_its_numbers_and_stored_once(step: Step) -> None:
    async def test() -> None:
        async with Office(step, step) as office, await office.connect() as client:
            await client.submit("k", "v")
            await client.submit("k", "w")
            assert [row["value"] for row in office.stored] == [b"v", b"w"]
            assert [request.series for request in office.submits] == [0, 0, 0, 1]
            assert len({request.body for request in office.submits[:3]}) == 1

    run(test())


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (problem("busy", 503, stored="no"), Overloaded),
        (problem("too-many", 429, stored="no"), Overloaded),
        (problem("expired", 503, stored="no"), DeadlinePassed),
        (problem("not-reachable", 503, stored="no"), NotReachable),
        (problem("read-only", 503, stored="no"), NoRoom),
        (problem("bad-request", 400, stored="no"), InvalidSubmission),
        (problem("not-allowed", 403, stored="no"), InvalidSubmission),
        (problem("stream-broken", 409, stored="no"), StreamBroken),
        (problem("unknown", 504, stored="unknown"), OutcomeUnknown),
        (problem("failed", 500, stored="unknown"), OutcomeUnknown),
        (hang_up, OutcomeUnknown),
        (lambda _request, _office: b"HTTP/1.1 504 X\r\nContent-Length: 0\r\n\r\n", OutcomeUnknown),
        (lambda _request, _office: b"HTTP/1.1 407 X\r\nContent-Length: 0\r\n\r\n", NotReachable),
    ],
)
def test_what_becomes_of_it_is_said_as_over_the_other_protocol(step: Step, error: type[ClientError]) -> None:
    async def test() -> None:
        async with Office() as office, await office.connect(timeout_s=SHORT_S) as client:
            office.otherwise = step
            with pytest.raises(error) as raised:
                await client.submit("k", "v")
            assert type(raised.value) is error
            office.otherwise = store
            await client.submit("k", "w")
            *before, last = [row["value"] for row in office.stored]
            assert last == b"w" and (not before or error is OutcomeUnknown), "said not to be stored, and is"
            # What may yet be stored is never passed under the same connection.
            is_over = error in (OutcomeUnknown, StreamBroken)
            assert office.submits[-1].headers["hansard-connection"] == ("8" if is_over else "7")

    run(test(), timeout_s=60)


def partly(stored: int, others: str) -> Step:
    """The first ones are stored."""

    def step(request: Request, office: Office) -> Answer:
        outcomes = [{"stored": "yes", "id": "x", "bucket": 1, "offset": place} for place in range(stored)]
        outcomes += [{"stored": others}] * (len(request.rows) - stored)
        name, status = ("unknown", 504) if others == "unknown" else ("partly-stored", 503)
        return problem(name, status, stored="partly", outcomes=outcomes)(request, office)

    return step


@pytest.mark.parametrize("others", ["no", "unknown"])
def test_of_a_body_that_is_stored_in_part_those_that_are_get_their_receipts(others: str) -> None:
    async def test() -> None:
        async with Office(partly(2, others)) as office, await office.connect() as client:
            office.held.clear()
            waiting = [asyncio.create_task(client.submit(f"k{number}", "v")) for number in range(3)]
            await until(lambda: len(office.submits) == 1)
            office.held.set()
            told = await asyncio.gather(*waiting)
            assert told[:2] == [Receipt(1, 0, None), Receipt(1, 1, None)] and told[2].bucket == 0
            assert [request.series for request in office.submits] == [0, 0]

    run(test())


@pytest.mark.parametrize(("others", "error"), [("no", DeadlinePassed), ("unknown", OutcomeUnknown)])
def test_of_many_it_is_said_of_each_when_time_is_over(others: str, error: type[ClientError]) -> None:
    async def test() -> None:
        async with Office() as office, await office.connect(timeout_s=SHORT_S) as client:
            office.otherwise = partly(1, others)
            with pytest.raises(PartlyStored) as raised:
                await client.submit_many(["a", "b"], ["1", "2"])
            first, second = raised.value.outcomes
            assert first == Receipt(1, 0, None) and isinstance(second, error)

    run(test())


def test_who_does_not_answer_is_left_for_the_next() -> None:
    async def test() -> None:
        async with Office() as silent, Office() as office:
            nobody = f"http://127.0.0.1:{free_addresses(1)[0][1]}"
            client = await AsyncClient.connect([nobody, silent.url, office.url], timeout_s=1.5)
            async with client:
                silent.held.clear()
                await client.submit("k", "v")
                assert len(silent.submits) == 1 and [row["value"] for row in office.stored] == [b"v"]
                await client.submit("k", "w")
                assert len(silent.submits) == 1, "it was left"

    run(test())


def test_a_program_that_numbers_its_batches_is_told_of_a_gap_before_it_passes_it() -> None:
    async def test() -> None:
        async with Office() as office, await office.connect(timeout_s=SHORT_S, name="sink") as client:

            async def put(first: int) -> None:
                await client.submit_batch(build(["a"], [str(first)], connection=7, first_series=first))

            await put(0)
            office.otherwise = problem("busy", 503, stored="no")
            with pytest.raises(Overloaded):
                await put(1)
            office.otherwise = store
            with pytest.raises(SeriesGap):
                await put(2)
            await put(1)
            await put(2)
            assert [row["value"] for row in office.stored] == [b"0", b"1", b"2"]
            with pytest.raises(ValueError, match="has a name"):
                await client.submit("k", "v")
        async with Office(lanes=2) as office, await office.connect() as client:
            with pytest.raises(ValueError, match="connects with a name"):
                await put_unnamed(client)

    run(test(), timeout_s=60)


async def put_unnamed(client: AsyncClient) -> None:
    await client.submit_batch(build(["a"], ["1"], connection=client.connection, first_series=0))


@pytest.mark.parametrize(
    "form",
    [
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 X\r\nContent-Length: %d\r\n\r\n%b",
        b"HTTP/1.1 201 X\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n",
        b"HTTP/1.1 201 X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b",
    ],
)
def test_answers_come_in_all_forms_that_http_has(form: bytes) -> None:
    def answer(request: Request, office: Office) -> Answer:
        found = store(request, office)
        assert isinstance(found, tuple)
        content = json.dumps(found[1]).encode()
        return form % (len(content), content)

    async def test() -> None:
        async with Office() as office, await office.connect() as client:
            office.otherwise = answer
            for number in range(3):
                assert (await client.submit("k", number)).offset == number
            assert len(office.stored) == 3

    run(test())


# Proxies.


class Tunnel(Office):
    """A proxy that lets through whoever shows its password."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(Request("CONNECT", head.split(" ")[1], {}, b""))
        if "Proxy-Authorization: Basic dTpw" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.numbers)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                target.write(data)
            target.close()

        await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer), return_exceptions=True)


def test_what_is_plain_goes_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with Office() as office:
            monkeypatch.setenv("http_proxy", f"http://u:p@127.0.0.1:{office.port}")
            async with await AsyncClient.connect(["http://hansard.test:8080/log"]) as client:
                with pytest.raises(InvalidSubmission):
                    await client.submit("k", "v")

    def answer(request: Request) -> Answer:
        assert request.target.startswith("http://hansard.test:8080/log/")
        assert request.headers["host"] == "hansard.test:8080"
        assert request.headers["proxy-authorization"] == "Basic dTpw"
        body = {"connection": "1", "lanes": 1, "id": "c", "log": "l", "buckets": 1}
        return (400, {"type": "urn:hansard:problem:bad-request"}) if "changes" in request.path else (200, body)

    monkeypatch.setattr(Office, "answer", lambda _self, request: answer(request))
    run(test())


def test_what_is_secured_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def test() -> None:
        papers(tmp_path, "a")
        own = files(tmp_path, "a")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(own.certificate, own.key)
        tls = trusting(tmp_path)
        tls.check_hostname = False
        async with Office(tls=context) as office, Tunnel() as proxy:
            proxy.numbers = office.port
            monkeypatch.setenv("https_proxy", f"http://u:p@127.0.0.1:{proxy.port}")
            async with await AsyncClient.connect(["https://hansard.test"], tls=tls) as client:
                await client.submit("k", "v")
            assert office.stored[0]["value"] == b"v" and proxy.requests[0].target == "hansard.test:443"
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
            with pytest.raises(NotReachable, match="407"):
                await AsyncClient.connect(["https://hansard.test"], tls=tls, timeout_s=0.5)

    run(test())


def test_what_is_on_this_machine_and_what_the_environment_names_needs_no_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "inside.test")
    hosts = ("127.0.0.1", "localhost", "::1", "a.inside.test", "outside.test")
    assert [proxy_of(Origin(False, host, 80)) is None for host in hosts] == [True, True, True, True, False]


# Addresses.


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("http://a.test", Origin(False, "a.test", 80)),
        ("https://a.test/", Origin(True, "a.test", 443)),
        ("https://a.test:8443/log/", Origin(True, "a.test", 8443, "/log")),
        ("http://[::1]:8080", Origin(False, "::1", 8080)),
    ],
)
def test_an_address_is_an_origin(address: str, origin: Origin) -> None:
    assert origin_of(address) == origin and origin_of(str(origin)) == origin


@pytest.mark.parametrize(
    "addresses",
    [["ftp://a.test"], ["http://"], ["http://a.test:99999"], ["http://a?x=1"], ["http://a.test", "a.test:7301"]],
)
def test_what_is_no_address_is_said_to_be_none(addresses: list[str]) -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match="address"):
            await AsyncClient.connect(addresses)

    run(test())
