"""Whatever is asked for, the answer is one of those that the description has."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from schemathesis import GenerationMode

from .fuzzing import attack, found, loaded, operations
from .town import Town

EXAMPLES = 110
"""Of each operation; those that would pull the cluster down under the test are not tried, and 100 are left."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A cluster for this alone: some of what is made up changes it."""
    with Town(tmp_path_factory.mktemp("target")) as town:
        town.guard()
        yield town


@pytest.mark.parametrize("name", operations())
def test_only_described_answers_come(target: Town, name: str) -> None:
    with target.caller("a", "admin") as caller:
        cluster = caller.get("/cluster").json["id"]
    operation = found(loaded(cluster, target.address()), name)
    headers = {"Authorization": f"Bearer {target.tokens['admin']}"}
    with requests.Session() as session:

        def tried(case: Any) -> None:
            if name == "follow":  # which does not end
                with session.send(session.prepare_request(_prepared(case, headers)), stream=True, timeout=30) as answer:
                    assert str(answer.status_code) in operation.definition.raw["responses"]
                return
            case.call_and_validate(headers=headers, session=session, timeout=30)

        right = attack(operation, GenerationMode.POSITIVE, EXAMPLES // 2, tried)
        wrong = attack(operation, GenerationMode.NEGATIVE, EXAMPLES - right, tried)
    assert right + wrong >= EXAMPLES, f"only {right} that are right and {wrong} that are wrong could be made up"


def _prepared(case: Any, headers: dict[str, str]) -> requests.Request:
    arguments = case.as_transport_kwargs(headers=headers)
    wanted = {
        name: arguments[name] for name in ("method", "url", "params", "headers", "data", "json") if name in arguments
    }
    return requests.Request(**wanted)
