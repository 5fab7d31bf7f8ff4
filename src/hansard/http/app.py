"""The application: who comes in, which operation it wants, what it is answered. POST /changes has its own way."""

import asyncio
import logging
from collections.abc import Mapping, MutableMapping
from importlib.metadata import version
from time import perf_counter
from typing import Any, Final, Literal

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route

from . import forms
from .access import NOBODY, SUBMIT, Doorman, Guest, allowed
from .arrow import MEDIA_TYPE as ARROW
from .changes import Changes, Receive, Scope, Send
from .checkpoints import Checkpoints
from .cluster import Views
from .connections import Connections
from .content import JSON, LINES, LINES_TOO
from .following import Following
from .house import House
from .intake import Gone, Intake
from .metrics import Metrics
from .openapi import described
from .operation import Call, Operation, decoded, understood
from .orders import Desk
from .page import HEADERS as PAGE_HEADERS
from .page import rendered
from .problem import Refusal, headers_of
from .quick import UNEXPECTED, Quick
from .reading import Reading
from .source import Source
from .submitting import Submitter
from .tokens import Tokens
from .workroom import Workroom

log = logging.getLogger(__name__)

BEARER: Final = b"bearer "


class Wait(forms.Closed, frozen=True, kw_only=True):
    """The query of POST /changes."""

    wait: Literal["commit", "none"] = "commit"


SUBMISSION_HEADERS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "Hansard-Connection": (
        "The connection that POST /connections has given.",
        {"type": "string", "format": "connection"},
    ),
    "Hansard-Series": (
        "The number of the first change in its stream; the others follow.",
        {"type": "integer", "minimum": 0},
    ),
    "Hansard-Previous": (
        "The series that was sent to the same bucket before, or `BUCKET=SERIES` for each of several.",
        {"type": "string", "pattern": "^[0-9]{1,9}$"},
    ),
    "Hansard-Deadline": (
        "How many seconds an answer is of use; 10 if not given.",
        {"type": "number", "exclusiveMinimum": 0, "maximum": 3600},
    ),
}


def submission() -> Operation:
    return Operation(
        "submit",
        "POST",
        "/changes",
        "Submit one change or many; the answer comes when they are on every member's disk.",
        None,
        scope=SUBMIT,
        whole=False,
        query=Wait,
        headers=SUBMISSION_HEADERS,
        bodies={JSON: forms.NewChange | forms.NewChanges, LINES: None, LINES_TOO: None, ARROW: None},
        answers={201: {JSON: (forms.Receipt, forms.Receipts)}, 202: {JSON: forms.Accepted}},
        problems=(
            *("series-gap", "stream-broken", "buckets-changed", "expired", "read-only", "not-ready"),
            *("not-reachable", "partly-stored", "unknown"),
        ),
    )


class App:
    def __init__(self, house: House, doorman: Doorman, source: Source) -> None:
        self._house = house
        self._doorman = doorman
        self.metrics = Metrics(house)
        self.intake = Intake()
        self._workroom = workroom = Workroom()
        submitter = Submitter(house, workroom, perf_counter)
        self.changes = Changes(submitter, self._admit, self.intake, self.metrics, workroom)
        self.quick = Quick(submitter, self._admit, self.intake, self.metrics)
        self._source = source
        self.reading = Reading(house, source, submitter.ends, workroom)
        self.following = Following(self.reading, self.metrics)
        views, desk = Views(house, self.metrics), Desk(house)
        self.operations = [
            submission(),
            *self.following.operations(),  # its path would be taken for an id
            *self.reading.operations(),
            *Checkpoints(self.reading.page).operations(),
            *Connections(house).operations(),
            *views.operations(),
            *desk.operations(),
            *desk.disk_operations(),
            *desk.hold_operations(),
            *Tokens(house).operations(),
            *self._papers(),
        ]
        self._router = Starlette(
            routes=[self._route(operation) for operation in self.operations if operation.handler is not None],
            exception_handlers={HTTPException: self._strange},
        )
        self.description = described(self.operations, version("hansard"))
        self._description = msgspec.json.encode(self.description)
        self._page = rendered(self.description)

    def stop(self) -> None:
        """The participant is about to stop: who waits for news waits elsewhere."""
        self.following.stop()

    async def close(self) -> None:
        self._workroom.close()
        await self._source.close()

    def _papers(self) -> list[Operation]:
        return [
            Operation(
                "openapi",
                "GET",
                "/openapi.json",
                "This description.",
                self.openapi,
                answers={200: {JSON: dict[str, Any]}},
            ),
            Operation("docs", "GET", "/docs", "The same for people.", self.docs, answers={200: {"text/html": str}}),
        ]

    async def openapi(self, _: Call) -> Response:
        return Response(self._description, media_type=JSON)

    async def docs(self, _: Call) -> Response:
        return Response(self._page, headers=PAGE_HEADERS, media_type="text/html")

    # Coming in.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        is_submission = scope["path"] == "/changes" and scope["method"] == "POST"
        said = Said(send, None if is_submission else TAKE_S_MAX)
        try:
            if is_submission:
                begun = perf_counter()
                try:
                    status = await self.changes(scope, receive, said)
                except Refusal as refusal:
                    status = await _refused(refusal.about_storing("no"), said)
                self._count("submit", status, begun)
            else:
                await self._router(scope, receive, said)
        except (Gone, ClientDisconnect, Deaf):
            pass
        except Exception:
            log.exception("a request could not be answered")
            if not said.begun:
                failed = Refusal("failed", UNEXPECTED)
                await _refused(failed.about_storing("unknown") if is_submission else failed, said)

    def _count(self, operation: str, status: int, begun: float) -> None:
        self.metrics.request(operation, status, perf_counter() - begun)

    def _admit(self, headers: Mapping[bytes, bytes], certificate: object) -> Guest:
        expected = headers.get(b"hansard-cluster")
        if expected is not None and expected.decode("latin-1") != self._house.cluster:
            raise Refusal("wrong-cluster", "the Hansard-Cluster header names another cluster than this one")
        presented = headers.get(b"authorization", b"")
        token = presented[len(BEARER) :].strip() if presented[: len(BEARER)].lower() == BEARER else b""
        if presented and not token:
            raise Refusal("no-token", "the Authorization header has no bearer token")
        return self._doorman(token.decode("latin-1"), certificate)

    def _route(self, operation: Operation) -> Route:
        async def endpoint(request: Request) -> Response:
            begun = perf_counter()
            try:
                response = await self._handled(operation, request)
            except Refusal as refusal:
                response = _response(refusal)
            except (Gone, ClientDisconnect):
                raise
            except Exception:
                log.exception("%s could not be answered", operation.name)
                response = _response(Refusal("failed", UNEXPECTED))
            self._count(operation.name, response.status_code, begun)
            return response

        route = Route(operation.path, endpoint, methods=[operation.method], name=operation.name)
        if operation.endless and route.methods:
            route.methods.discard("HEAD")
        return route

    async def _handled(self, operation: Operation, request: Request) -> Response:
        headers, certificate = dict(request.scope["headers"]), request.scope.get("hansard.certificate")
        if operation.scope:
            guest = self._admit(headers, certificate)
            allowed(guest, operation.scope, whole=operation.whole)
            guest.check_rate()
        else:
            guest = self._visitor(headers)
        query = understood(request.scope["query_string"], operation.query)
        assert operation.handler is not None

        def again() -> Guest:
            guest = self._admit(headers, certificate)
            allowed(guest, operation.scope, whole=operation.whole)
            return guest

        if not operation.bodies:
            return await operation.handler(Call(request, guest, query, None, again))
        async with self.intake.body(request.receive, headers) as body:
            if not body and not operation.body_required:
                return await operation.handler(Call(request, guest, query, None, again))
            media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
            form = operation.bodies.get(media_type)
            if form is None:
                raise Refusal("unsupported-body", f"a body of type {media_type[:100]!r} is not understood here")
            return await operation.handler(Call(request, guest, query, decoded(body, form), again))

    def _visitor(self, headers: Mapping[bytes, bytes]) -> Guest:
        """Whoever asks for what everybody may know."""
        expected = headers.get(b"hansard-cluster")
        if expected is not None and expected.decode("latin-1") != self._house.cluster:
            raise Refusal("wrong-cluster", "the Hansard-Cluster header names another cluster than this one")
        return NOBODY

    # What else.

    async def _strange(self, request: Request, error: Exception) -> Response:
        """No such path, or not by this method."""
        assert isinstance(error, HTTPException)
        if error.status_code != 405:
            self._count("none", 404, perf_counter())
            return _response(Refusal("not-found", "there is nothing at this path"))
        refusal = Refusal("method-not-allowed", f"{request.method} is not for this path")
        refusal.headers["Allow"] = ", ".join(self._methods(request.scope))
        self._count("none", 405, perf_counter())
        return _response(refusal)

    def _methods(self, scope: MutableMapping[str, Any]) -> list[str]:
        found = []
        for route in self._router.routes:
            if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE:
                found += sorted(route.methods or ())
        return [*found, "POST"] if scope["path"] == "/changes" else found


TAKE_S_MAX: Final = 30.0
"""Who takes nothing of its answer for so long is gone, or might as well be."""


class Deaf(Exception):
    """Nobody takes the answer."""


class Said:
    """Whether an answer was begun: then no other one can be given."""

    __slots__ = ("_patience_s", "_send", "begun")

    def __init__(self, send: Send, patience_s: float | None) -> None:
        self._send = send
        self._patience_s = patience_s
        """None for what is so short that nobody has to wait until it is taken."""
        self.begun = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.begun = True
        if self._patience_s is None:
            await self._send(message)
            return
        try:
            async with asyncio.timeout(self._patience_s):
                await self._send(message)
        except TimeoutError as error:
            raise Deaf from error


def _response(refusal: Refusal) -> Response:
    return Response(refusal.encoded(), refusal.status, headers_of(refusal))


async def _refused(refusal: Refusal, send: Said) -> int:
    content = refusal.encoded()
    headers = [(name.lower().encode(), value.encode()) for name, value in headers_of(refusal).items()]
    headers.append((b"content-length", b"%d" % len(content)))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
    return refusal.status
