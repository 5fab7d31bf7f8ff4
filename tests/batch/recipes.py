"""How the test vectors in vectors/ are made: `python -m tests.batch.recipes` writes those that are missing.

One that is there is never written again. Whoever has written a reader from docs/reference/batch-format.md tries it on
these, and so do we: if one no longer fits, the code is wrong, or the format has a new version and new vectors.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hansard.batch import Batch, build, merge, select

FOLDER: Final = Path(__file__).parent / "vectors"

TIME: Final = 1_700_000_000_000_000
"""2023-11-14 22:13:20 UTC."""


def one() -> Batch:
    return build(["k"], ["v"])


def worked_example() -> Batch:
    """The one that the format's document takes apart."""
    batch = build(["a", "bc"], ["12", None], [["x"], ["x", "yz"]], connection=7, first_series=5, previous_series=4)
    return batch.stamped(epoch=1, base_offset=100, timestamp=TIME)


def missing_and_empty() -> Batch:
    return build([None, "", "k"] * 3, ["", None, "v"] * 3)


def tags() -> Batch:
    return build(["a", "b", "c"], ["1", "2", "3"], [["größe", "東京"], [], ["b", "größe", "b"]])


def series_with_gaps() -> Batch:
    return build(["a", "b"], ["1", "2"], connection=(1 << 63) - 1, series=[3, (1 << 63) - 1], previous_series=2)


def several_clients() -> Batch:
    clients = [
        build(["a", "b"], ["1", "2"], [["x"], ["y"]], connection=3, first_series=8, previous_series=7),
        build(["c"], ["3"], [["y", "z"]]),
        build(["d"], ["4"], connection=9),
    ]
    return merge(clients).stamped(epoch=2, base_offset=10, timestamp=TIME)


def times() -> Batch:
    batch = build(["a", "b", "c"], ["1", "2", "3"], timestamps=[0, 0, TIME])
    return batch.placed(epoch=(1 << 63) - 1, base_offset=(1 << 63) - 4)


def part() -> Batch:
    batch = worked_example()
    return select(batch, batch.offsets == 101)


def nothing() -> Batch:
    batch = worked_example()
    return select(batch, batch.offsets < 0)


def internal() -> Batch:
    return build([None], [b"\0\xff"]).marked_internal()


def every_column() -> Batch:
    batch = build(
        ["a", None, "c", "d"],
        ["1", "22", None, "4444"],
        [["x"], ["y"], [], ["x"]],
        connections=[1, 0, 2, 1],
        series=[4, 0, 1, 5],
        timestamps=[TIME, TIME, TIME + 1, TIME + 2],
    )
    return select(batch.placed(epoch=5, base_offset=70), batch.offsets != 3)


def compressed() -> Batch:
    return build([f"key-{i}" for i in range(20)], ["value"] * 20, [["x"]] * 20, connection=1).compressed()


RECIPES: Final[dict[str, Callable[[], Batch]]] = {
    recipe.__name__.replace("_", "-"): recipe
    for recipe in (
        one,
        worked_example,
        missing_and_empty,
        tags,
        series_with_gaps,
        several_clients,
        times,
        part,
        nothing,
        internal,
        every_column,
        compressed,
    )
}


def expected(batch: Batch) -> dict[str, Any]:
    """What a reader must find, in JSON; keys and values as hexadecimal, since they are bytes."""
    header = batch.header._asdict()
    header["magic"] = header["magic"].decode()
    changes = [change._asdict() for change in batch.changes()]
    for change in changes:
        change["key"], change["value"] = _hex(change["key"]), _hex(change["value"])
        change["tags"] = list(change["tags"])
    return {"header": header, "hashes": batch.key_hashes.tolist(), "changes": changes}


def _hex(text: bytes | None) -> str | None:
    return None if text is None else text.hex()


def main() -> None:
    for name, recipe in RECIPES.items():
        path = FOLDER / f"{name}.hex"
        if not path.exists():
            batch = recipe()
            raw = batch.to_bytes()
            lines = [raw[start : start + 32].hex(" ", 4) for start in range(0, len(raw), 32)]
            path.write_text("\n".join(lines) + "\n")
            listing = json.dumps(expected(batch), indent=1, ensure_ascii=False)
            path.with_suffix(".json").write_text(listing + "\n")
            print(f"made {path.name} and its .json")


if __name__ == "__main__":
    main()
