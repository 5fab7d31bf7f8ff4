"""What operators order, and what is kept for readers: drains, moves, doublings, settings, holds."""

import secrets
from typing import Any, Final

import msgspec
from starlette.responses import Response

from . import forms
from .access import ADMIN, READ
from .cluster import NODE
from .house import House
from .operation import JSON, Call, Operation, answered
from .problem import Refusal

ID: Final = {"type": "string", "minLength": 1, "maxLength": 200, "format": "name"}


class Settled(forms.Closed, frozen=True, kw_only=True):
    settled: bool = False
    """With all that was answered to anybody before, though this participant may be behind."""


class Desk:
    def __init__(self, house: House) -> None:
        self._house = house

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "order",
                "POST",
                "/orders",
                "Drain, undrain, move, release, double, pause, resume, configure or guard.",
                self.order,
                scope=ADMIN,
                bodies={JSON: forms.NewOrder},
                answers={202: {JSON: forms.Order}},
                problems=("refused", "not-reachable"),
            ),
            Operation(
                "order_status",
                "GET",
                "/orders/{id}",
                "What has become of an order.",
                self.status,
                scope=ADMIN,
                path_schemas={"id": ID},
                answers={200: {JSON: forms.Order}},
                problems=("not-found",),
            ),
            Operation(
                "settings",
                "GET",
                "/settings",
                "What operators have chosen.",
                self.settings,
                scope=ADMIN,
                answers={200: {JSON: forms.Settings}},
            ),
            Operation(
                "configure",
                "PATCH",
                "/settings",
                "Change some settings.",
                self.configure,
                scope=ADMIN,
                bodies={JSON: forms.Changed},
                answers={202: {JSON: forms.Order}},
                problems=("refused", "not-reachable"),
            ),
        ]

    def disk_operations(self) -> list[Operation]:
        return [
            Operation(
                "give_up",
                "DELETE",
                "/participants/{node}",
                "Give a participant up for lost: it departs.",
                self.give_up,
                scope=ADMIN,
                path_schemas={"node": NODE},
                answers={202: {JSON: forms.Nothing}},
                problems=("not-found",),
            ),
            Operation(
                "scrub",
                "POST",
                "/scrub",
                "Look for damage on this participant's disk now.",
                self.scrub,
                scope=ADMIN,
                answers={202: {JSON: forms.Nothing}},
            ),
        ]

    def hold_operations(self) -> list[Operation]:
        path = {"name": ID}
        return [
            Operation(
                "holds",
                "GET",
                "/holds",
                "Which places are held, and from where on each bucket is kept.",
                self.holds,
                scope=READ,
                query=Settled,
                answers={200: {JSON: forms.Holds}},
            ),
            Operation(
                "hold",
                "PUT",
                "/holds/{name}",
                "Keep everything from a bookmark on, for a while; again, to move or renew it.",
                self.hold,
                scope=READ,
                path_schemas=path,
                bodies={JSON: forms.NewHold},
                answers={200: {JSON: forms.Held}},
                problems=("refused", "not-reachable"),
            ),
            Operation(
                "let_go",
                "DELETE",
                "/holds/{name}",
                "A hold is not needed any more.",
                self.let_go,
                scope=READ,
                path_schemas=path,
                answers={200: {JSON: forms.Nothing}},
                problems=("refused", "not-reachable"),
            ),
        ]

    # Orders.

    async def order(self, call: Call) -> Response:
        given: forms.NewOrder = call.body
        return await self._give(given.id or secrets.token_hex(8), msgspec.to_builtins(given.wish))

    async def _give(self, id: str, wish: dict[str, Any]) -> Response:
        told = await self._house.ask(ask="order", id=id, wish=wish)
        if told["standing"] == "refused":
            raise Refusal("refused", told["remark"] or "it cannot be carried out")
        return answered(_order(id, told), 202, {"Location": f"/orders/{id}"} if id.isascii() and id.isalnum() else None)

    async def status(self, call: Call) -> Response:
        id = call.path["id"]
        try:
            return answered(_order(id, await self._house.ask(ask="follow", id=id)))
        except Refusal as refusal:
            raise Refusal("not-found", refusal.problem.detail) from None

    async def settings(self, _: Call) -> Response:
        return answered((await self._house.ask(ask="table"))["settings"])

    async def configure(self, call: Call) -> Response:
        wish = {"type": "configure", **msgspec.to_builtins(call.body)}
        return await self._give(secrets.token_hex(8), wish)

    async def give_up(self, call: Call) -> Response:
        try:
            return answered(await self._house.ask(ask="leave", node=call.path["node"]), 202)
        except Refusal as refusal:
            raise Refusal("not-found", refusal.problem.detail) from None

    async def scrub(self, _: Call) -> Response:
        return answered(await self._house.ask(ask="scrub"), 202)

    # Holds.

    async def holds(self, call: Call) -> Response:
        return answered(await self._house.ask(ask="holds", settled=call.query.settled))

    async def hold(self, call: Call) -> Response:
        wanted: forms.NewHold = call.body
        bookmark = str(call.guest.bookmark_of(wanted.bookmark))
        name, lasts_s = call.path["name"], wanted.lasts_s
        return answered(await self._house.ask(ask="hold", name=name, lasts_s=lasts_s, bookmark=bookmark))

    async def let_go(self, call: Call) -> Response:
        await self._house.ask(ask="let go", name=call.path["name"])
        return answered({})


def _order(id: str, told: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, **{name: told[name] for name in ("standing", "remark", "remaining", "wish")}}
