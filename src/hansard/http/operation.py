"""One operation of the API: what it takes, what it answers, who may, and the function that does it.

The routes and their description in OpenAPI are both made from the same table of these, so neither has what the other
has not, and what is not described is refused.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from .access import Guest
from .problem import Refusal

JSON: Final = "application/json"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in and understood."""

    request: Request
    guest: Guest
    query: Any
    """Of the operation's type."""
    body: Any
    """The same."""
    again: Callable[[], Guest]
    """Who it is by now; refuses whoever has lost its rights since it came."""

    @property
    def path(self) -> Mapping[str, str]:
        return self.request.path_params


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    """For metrics and for makers of clients: it stays."""
    method: str
    path: str
    summary: str
    handler: Handler | None
    """None for the hot route, which has its own way."""
    scope: str = ""
    """What a token must have; empty: none is needed."""
    whole: bool = True
    """Only for tokens that are not limited to tags."""
    endless: bool = False
    """What it answers does not end: there is no asking for the head of it alone."""
    query: type[Struct] | None = None
    headers: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Headers of its own: what each says, and its schema."""
    path_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bodies: Mapping[str, Any] = field(default_factory=dict)
    """By media type; a type of forms.py, or None for bytes."""
    body_required: bool = True
    answers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """By status and media type; the same, or a tuple of several that it may be."""
    problems: tuple[str, ...] = ()
    """Besides those that every operation has."""


def answered(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encode(body), status, dict(headers or {}), JSON)


def understood(query: bytes, wanted: type[Struct] | None) -> Any:
    """The query as its type has it. What is repeated is a list, where that is wanted."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict") if query else []
    except ValueError as error:
        raise Refusal("bad-request", f"the query is no text in UTF-8: {error}") from error
    found: dict[str, Any] = {}
    lists = _lists(wanted) if wanted is not None else frozenset()
    for name, value in pairs:
        if name in lists:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise Refusal("bad-request", f"the parameter {name[:100]!r} is there twice")
        else:
            found[name] = value
    if wanted is None:
        if found:
            raise Refusal("bad-request", "there are no parameters here")
        return None
    try:
        return msgspec.convert(found, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise Refusal("bad-request", f"a parameter is wrong: {error}") from error


def _lists(wanted: type[Struct]) -> frozenset[str]:
    return frozenset(each.encode_name for each in msgspec.structs.fields(wanted) if _is_list(each.type))


def _is_list(kind: Any) -> bool:
    origin = getattr(kind, "__origin__", None)
    inner = getattr(origin, "__origin__", origin)
    return inner is list or kind is list


def decoded(body: bytes, wanted: type[Struct] | UnionType) -> Any:
    try:
        return msgspec.json.decode(body, type=wanted)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Refusal("bad-request", f"the body cannot be read: {error}") from error
