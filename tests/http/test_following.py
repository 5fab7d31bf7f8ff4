"""Changes as they come: each once, in order, and on from where somebody was."""

from contextlib import ExitStack
from secrets import token_hex

from tests.cluster.visitor import Visitor

from .caller import Caller
from .listener import Listener
from .town import Town


def test_events_come_as_changes_are_committed(town: Town, caller: Caller) -> None:
    tag = f"live-{token_hex(6)}"
    with Listener(town.address("b"), f"/changes/stream?tag={tag}") as listener:
        assert (listener.status, listener.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        for number in range(5):
            caller.post("/changes", {"key": tag, "value": {"n": number}, "tags": [tag]})
        events = listener.changes(5)
    assert [event.data["value"]["n"] for event in events] == list(range(5))


def test_whoever_comes_back_goes_on_after_the_last_event_it_saw(town: Town, caller: Caller) -> None:
    tag = f"resume-{token_hex(6)}"
    caller.post("/changes", [{"key": f"k{number}", "tags": [tag]} for number in range(30)])
    everything = caller.get(f"/changes?tag={tag}").json["changes"]
    path, last = f"/changes/stream?since=0&tag={tag}", ""
    seen: list[str] = []
    while len(seen) < 30:
        headers = {"Last-Event-ID": last} if last else {}
        with Listener(town.address("c"), path, headers) as listener:
            events = listener.changes(min(7, 30 - len(seen)))
        seen += [event.data["id"] for event in events]
        last = events[-1].id
    assert seen == [change["id"] for change in everything]


def test_without_a_place_it_begins_now(town: Town, caller: Caller) -> None:
    caller.post("/changes", {"key": "before"})
    with Listener(town.address(), "/changes/stream") as listener:
        caller.post("/changes", {"key": "after", "value": "a\nb"})
        (event,) = listener.changes(1)
    assert (event.data["key"], event.data["value"]) == ("after", "a\nb")


def test_a_value_of_several_lines_is_one_event(town: Town, caller: Caller) -> None:
    key = f"lines-{token_hex(6)}"
    body = b'{"key": "%b", "value": {\n "a":\r\n 1}}' % key.encode()
    with Listener(town.address(), f"/changes/stream?key={key}") as listener:
        assert caller.call("POST", "/changes", body, {"Content-Type": "application/json"}).status == 201
        (event,) = listener.changes(1)
    assert event.data["value"] == {"a": 1}


def test_what_cannot_be_followed_is_refused_before_it_begins(town: Town) -> None:
    for path in ("/changes/stream?since=nonsense", "/changes/stream?limit=1"):
        with Listener(town.address(), path) as listener:
            assert listener.status == 400
    with Listener(town.address(), "/changes/stream", {"Last-Event-ID": "b1AAAA"}) as listener:
        assert listener.status == 400


FOLLOWERS = 40
READS_MAX = 12
"""That wait at all participants together, of four buckets."""


def test_those_who_follow_different_things_wait_together(guarded: Town) -> None:
    async def waiting() -> int:
        found = 0
        for address in guarded.company.addresses.values():
            async with await Visitor.dial(address, token=guarded.tokens["admin"]) as visitor:
                found += (await visitor.ask(ask="status"))["waiting_reads"]
        return found

    headers = {"Authorization": f"Bearer {guarded.tokens['admin']}"}
    paths = [f"/changes/stream?tag=different-{number}" for number in range(FOLLOWERS)]
    with ExitStack() as stack:
        streams = [stack.enter_context(Listener(guarded.address(), path, headers)) for path in paths]
        assert all(stream.status == 200 for stream in streams)
        with guarded.caller("a", "admin") as caller:  # now each has read once, and waits
            for number, stream in enumerate(streams):
                caller.post("/changes", {"tags": [f"different-{number}"]})
                stream.changes(1)
        assert guarded.run(waiting()) <= READS_MAX
