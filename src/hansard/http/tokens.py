"""Tokens, for whoever has one for admin: granted, listed, revoked. What is granted is told once, and kept nowhere."""

import msgspec
from starlette.responses import Response

from . import forms
from .access import ADMIN
from .house import House
from .operation import JSON, Call, Operation, answered
from .problem import Refusal

NO_STORE = {"Cache-Control": "no-store"}


class Tokens:
    def __init__(self, house: House) -> None:
        self._house = house

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "tokens",
                "GET",
                "/tokens",
                "What each token allows; never its secret.",
                self.tokens,
                scope=ADMIN,
                answers={200: {JSON: forms.Tokens}},
            ),
            Operation(
                "grant",
                "POST",
                "/tokens",
                "A new token, told once; the same name again puts it in the place of the one before.",
                self.grant,
                scope=ADMIN,
                bodies={JSON: forms.NewToken},
                answers={201: {JSON: forms.Granted}},
                problems=("refused", "not-reachable"),
            ),
            Operation(
                "revoke",
                "DELETE",
                "/tokens/{name}",
                "A token is of no use any more.",
                self.revoke,
                scope=ADMIN,
                path_schemas={"name": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,63}$"}},
                answers={200: {JSON: forms.Nothing}},
                problems=("not-found", "refused", "not-reachable"),
            ),
        ]

    async def tokens(self, _: Call) -> Response:
        return answered(await self._house.ask(ask="tokens"))

    async def grant(self, call: Call) -> Response:
        told = await self._house.ask(ask="grant", **msgspec.to_builtins(call.body))
        return answered(told, 201, NO_STORE)

    async def revoke(self, call: Call) -> Response:
        name = call.path["name"]
        if name not in self._house.core.distributor.tokens.granted:
            raise Refusal("not-found", "there is no token of this name")
        await self._house.ask(ask="revoke", name=name)
        return answered({})
