"""Requests that schemathesis makes up from the description of the API, and what may be answered to them.

Formats of our own are filled with what there is; and what would pull the cluster down under the tests is left out:
giving its participants up, draining them, and buckets by the thousand.
"""

from functools import cache
from typing import Any, cast

import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.schemas import BaseSchema

from hansard.bookmark import Bookmark
from hansard.http.app import App
from hansard.http.house import House
from hansard.http.operation import Operation
from hansard.http.source import Source

BUCKETS_MAX = 8
ALSO_REFUSED = ["410", "413", "421", "431"]
"""With these, too, whatever is wrong may be refused."""


def _texts(length: int) -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=length)


def _bookmarks() -> st.SearchStrategy[str]:
    offsets = st.dictionaries(st.integers(0, 3), st.integers(0, 3), max_size=4)
    return offsets.map(lambda found: str(Bookmark("a-log", found)))


TIMES = st.sampled_from(
    ["0", "1790000000.5", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.25+02:00", "9999-12-31T00:00:00Z"]
)
PLACES = st.one_of(_bookmarks(), TIMES)
IDS = st.one_of(
    st.from_regex(r"\A[0-9]{1,9}-[0-9a-f]{16}\Z"),
    _texts(20).filter(lambda text: "/" not in text and text not in {".", ".."}),
)
FORMATS = {
    "tag": _texts(60),
    "name": st.from_regex(r"\A[A-Za-z0-9_-]{8,20}\Z"),
    "place": PLACES,
    "time-or-epoch": TIMES,
    "bookmark": _bookmarks(),
    "id": IDS,
    "connection": st.integers(1, 1 << 40).map(str),
}

FREE = {"tag", "tags", "name"}
"""Where a format says what is made up, and not what is taken."""


@cache
def operations() -> list[str]:
    """All that there are, by the names that they have in the description."""
    return [operation.name for operation in _app().operations]


def operation_table() -> list[Operation]:
    return _app().operations


@cache
def _app() -> App:
    """Without a participant: for its description only."""
    return App(cast(House, None), cast(Any, None), Source(cast(Any, None)))


def description(cluster: str) -> dict[str, Any]:
    """As it is served; but a cluster's id is what it is."""
    for name, strategy in FORMATS.items():
        schemathesis.openapi.format(name, strategy)
    schemathesis.openapi.format("cluster", st.just(cluster))
    return _app().description


def loaded(cluster: str, address: tuple[str, int]) -> BaseSchema:
    schema = schemathesis.openapi.from_dict(description(cluster))
    schema.config.update(base_url=f"http://{address[0]}:{address[1]}")
    refusals = schema.config.checks.negative_data_rejection
    refusals.expected_statuses = [*refusals.expected_statuses, *ALSO_REFUSED]
    failures = schema.config.checks.not_a_server_error
    failures.expected_statuses = [*failures.expected_statuses, "503", "504"]
    return schema


def found(schema: BaseSchema, name: str) -> Any:
    for result in schema.get_all_operations():
        operation = cast(Any, result).ok()
        if operation.definition.raw["operationId"] == name:
            return operation
    raise AssertionError(f"{name} is not described")


def is_harmless(case: Any) -> bool:
    wish = case.body.get("wish") if isinstance(case.body, dict) else None
    if not isinstance(wish, dict):
        return case.operation.definition.raw["operationId"] != "give_up" or len(case.path_parameters["node"]) > 1
    return wish.get("type") not in {"drain", "guard"} and not (
        wish.get("type") == "double" and wish.get("to") in range(BUCKETS_MAX + 1, 4097)
    )


def arrives(case: Any) -> bool:
    """What is wrong must be seen when it is sent: an empty list is not, and one thing looks like a list of it."""
    lists = {each["name"] for each in case.operation.definition.raw.get("parameters", []) if _is_list(each)}
    values = (case.query or {}).items()
    return not any(value in ([], {}, None) or (name in lists and not isinstance(value, list)) for name, value in values)


def is_wrong(case: Any) -> bool:
    """Tags and names are any text: what is not of our making is not wrong for that."""
    mutations = case.meta.phase.data.mutations
    return not all(each.keywords == ("format",) and not FREE.isdisjoint(each.path) for each in mutations)


def _is_list(parameter: dict[str, Any]) -> bool:
    return bool(parameter.get("in") == "query" and parameter.get("schema", {}).get("type") == "array")


def fitted(case: Any) -> Any:
    """What a description cannot say: some things go together only, and a whole number is written as one."""
    headers, query = case.headers or {}, case.query or {}
    series = headers.get("Hansard-Series")
    if series is None or "Hansard-Connection" not in headers:
        for name in ("Hansard-Connection", "Hansard-Series", "Hansard-Previous"):
            headers.pop(name, None)
    elif int(headers.get("Hansard-Previous", -1)) >= int(series) or int(series) > 1 << 60:
        headers.pop("Hansard-Previous", None)
        headers["Hansard-Series"] = "17"
    if isinstance(case.body, list):  # of several buckets it would have to name each
        headers.pop("Hansard-Previous", None)
    if "block" in query:
        query["block"] = min(float(query["block"]), 0.05)
    if "bucket" not in query or "since" in query or "until" in query:
        query.pop("first", None), query.pop("end", None)
    if case.operation.definition.raw["operationId"] == "checkpoints" and "tag" in query:
        query["tag"] = [tag for tag in query["tag"] if len(tag.encode()) <= 30][:4]  # all of them fit into one
    if isinstance(case.body, dict) and not case.body.get("name"):
        case.body.pop("broken", None)
    if isinstance(case.body, dict | list):
        case.body = _whole(case.body)
    return case


def _whole(value: Any) -> Any:
    match value:
        case dict():
            return {name: _whole(each) for name, each in value.items()}
        case list():
            return [_whole(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def attack(operation: Any, mode: GenerationMode, examples: int, tried: Any) -> int:
    """Calls `tried` with each case; says how many there were."""
    count = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def run(case: Any) -> None:
        nonlocal count
        assume(is_harmless(case) and (mode is GenerationMode.POSITIVE or (arrives(case) and is_wrong(case))))
        count += 1
        tried(fitted(case) if mode is GenerationMode.POSITIVE else case)

    run()
    return count
