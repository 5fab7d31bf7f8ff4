"""What the cluster says of itself: who takes part, which bucket lies where, and whether all is well."""

from typing import Any, Final

from starlette.responses import Response

from . import forms
from .access import ADMIN, READ
from .house import House
from .metrics import MEDIA_TYPE as METRICS_TYPE
from .metrics import Metrics
from .operation import JSON, Call, Operation, answered
from .problem import Refusal

BUCKET: Final = {"type": "integer", "minimum": 0, "maximum": 4095}
NODE: Final = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[A-Za-z0-9._-]+$"}


class Views:
    def __init__(self, house: House, metrics: Metrics) -> None:
        self._house = house
        self._metrics = metrics

    def operations(self) -> list[Operation]:
        return [
            _view("cluster", "/cluster", "This cluster as a whole.", self.cluster, forms.Cluster),
            _view("participants", "/participants", "Who takes part.", self.participants, forms.Participants),
            _view("table", "/table", "Which bucket lies where.", self.table, forms.Table),
            Operation(
                "bucket",
                "GET",
                "/buckets/{bucket}",
                "One bucket: its government, and its copy here.",
                self.bucket,
                scope=READ,
                path_schemas={"bucket": BUCKET},
                answers={200: {JSON: forms.Bucket}},
                problems=("not-found",),
            ),
            Operation(
                "health",
                "GET",
                "/health",
                "Whether requests should be sent here.",
                self.health,
                answers={200: {JSON: forms.Health}, 503: {JSON: forms.Health}},
            ),
            Operation(
                "live",
                "GET",
                "/health/live",
                "Whether the process runs.",
                self.live,
                answers={200: {JSON: forms.Health}},
            ),
            Operation(
                "mark",
                "PUT",
                "/health",
                "Mark this participant as down, so that balancers leave it alone, or up again.",
                self.mark,
                scope=ADMIN,
                bodies={JSON: forms.Down},
                answers={200: {JSON: forms.Health}},
            ),
            Operation(
                "metrics",
                "GET",
                "/metrics",
                "For Prometheus.",
                self.metrics,
                scope=READ,
                answers={200: {METRICS_TYPE: str}},
            ),
        ]

    async def cluster(self, _: Call) -> Response:
        status = await self._house.ask(ask="status")
        same = ("log", "node", "incarnation", "version", "participants", "buckets", "states", "paused", "drained")
        found: dict[str, Any] = {name: status[name] for name in same}
        found |= {name: [bucket["bucket"] for bucket in status[name]] for name in ("thinned", "lost")}
        return answered({"id": status["cluster"], "atomic": status["atomic"], **found})

    async def participants(self, _: Call) -> Response:
        status = await self._house.ask(ask="status")
        return answered({"participants": status["participants"]})

    async def table(self, _: Call) -> Response:
        return answered(await self._house.ask(ask="table"))

    async def bucket(self, call: Call) -> Response:
        text, buckets = call.path["bucket"], self._house.core.distributor.buckets
        if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) >= len(buckets):
            raise Refusal("not-found", f"there are {len(buckets)} buckets, from 0 on")
        table, copies = await self._house.ask(ask="table"), await self._house.ask(ask="buckets")
        own = next((copy for copy in copies if copy["bucket"] == int(text) and "start" in copy), None)
        here = {name: own[name] for name in forms.Copy.__struct_fields__} if own is not None else None
        return answered({"government": table["buckets"][int(text)], "here": here})

    def _health(self) -> forms.Health:
        house = self._house
        reason = "" if house.is_ready else "it does not take part in a cluster with buckets yet"
        if house.marked_down():
            reason = "it was marked down by an operator"
        return forms.Health(live=True, ready=not reason, marked_down=house.marked_down(), reason=reason)

    async def health(self, _: Call) -> Response:
        health = self._health()
        return answered(health, 200 if health.ready else 503)

    async def live(self, _: Call) -> Response:
        return answered(self._health())

    async def mark(self, call: Call) -> Response:
        await self._house.ask(ask="mark", down=call.body.down)
        return answered(self._health())

    async def metrics(self, _: Call) -> Response:
        return Response(self._metrics.text(), media_type=METRICS_TYPE)


def _view(name: str, path: str, summary: str, handler: Any, form: Any) -> Operation:
    return Operation(name, "GET", path, summary, handler, scope=READ, answers={200: {JSON: form}})
