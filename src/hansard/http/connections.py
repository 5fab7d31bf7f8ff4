"""`POST /connections`: a number for a stream, so that what is submitted by it counts once."""

import asyncio
from typing import Final

from starlette.responses import Response

from hansard.participant.effect import AnswerConnect

from . import forms
from .access import SUBMIT
from .house import House
from .operation import JSON, Call, Operation, answered
from .problem import Refusal
from .terms import SERIES_MAX, deadline_s

NAME_BYTES_MAX: Final = 200


class Connections:
    def __init__(self, house: House) -> None:
        self._house = house

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "connect",
                "POST",
                "/connections",
                "A connection for a stream of changes; with a name, the same one again until it expires.",
                self.connect,
                scope=SUBMIT,
                whole=False,
                bodies={JSON: forms.NewConnection},
                body_required=False,
                answers={201: {JSON: forms.Connection}},
                problems=("not-reachable", "not-ready"),
            )
        ]

    async def connect(self, call: Call) -> Response:
        wanted: forms.NewConnection = call.body or forms.NewConnection()
        name = wanted.name or ""
        broken = call.guest.connection_of(wanted.broken) if wanted.broken is not None else 0
        if broken and not name:
            raise Refusal("bad-request", "`broken` goes with a name: without one every connection is a new one")
        # Names are the whole cluster's. A limited token has a corner of its own, where nobody else can name anything.
        asked = call.guest.named(name)
        if len(asked.encode()) > NAME_BYTES_MAX:
            raise Refusal("bad-request", f"the name is longer than {NAME_BYTES_MAX} bytes")
        if not self._house.is_ready:
            raise Refusal("not-ready", "this participant does not take part in a cluster with buckets yet")
        call.guest.used(1, 0)
        headers = dict(call.request.scope["headers"])
        answer = await self._connected(asked, broken, deadline_s(headers))
        if not answer.connection:
            raise Refusal("not-reachable", "there was no number to be had in that time", retry_s=answer.retry_us / 1e6)
        given = forms.Connection(
            connection=call.guest.connection(answer.connection),
            series_first=0,
            series_last=SERIES_MAX,
            name=wanted.name,
            lanes=1 if call.guest.limited else self._lanes,
        )
        return answered(given, 201)

    @property
    def _lanes(self) -> int:
        """Whoever has the same remainder lives in the same bucket, or will never do so: buckets are split, and no more.
        Those that are still to be split off do not count."""
        return min([bucket.level for bucket in self._house.core.distributor.buckets if bucket.level], default=1)

    async def _connected(self, name: str, broken: int, wait_s: float) -> AnswerConnect:
        answered: asyncio.Future[AnswerConnect] = asyncio.get_running_loop().create_future()

        def connected(answer: AnswerConnect) -> None:
            if not answered.done():
                answered.set_result(answer)

        self._house.connect(name, broken, int(wait_s * 1e6), connected)
        return await answered
