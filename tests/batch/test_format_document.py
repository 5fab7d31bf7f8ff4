"""docs/reference/batch-format.md says what the code does: its tables alone are enough to read every test vector."""

import re
import struct
from itertools import dropwhile, pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from hansard.batch import HEADER_BYTES, Flag, key_hash
from hansard.batch import limits as limits_module
from hansard.batch.header import VERSION, Header
from tests.batch.recipes import FOLDER, RECIPES, worked_example
from tests.batch.test_vectors import vector

PAGE = (Path(__file__).parents[2] / "docs/reference/batch-format.md").read_text()

FORMATS = {"4 bytes": "4s", "u16": "H", "u32": "I", "i64": "q", "i32": "i", "u8": "B"}


def table(heading: str) -> list[dict[str, str]]:
    """The first table under a heading, as one dict for each row; backquotes are dropped."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].splitlines()
    lines = list(takewhile(is_row, dropwhile(lambda line: not is_row(line), section)))
    names, _, *rows = [[cell.strip() for cell in line.strip("|").replace("`", "").split("|")] for line in lines]
    return [dict(zip(names, row, strict=True)) for row in rows]


def is_row(line: str) -> bool:
    return line.startswith("|")


def test_the_header_table_is_the_header() -> None:
    rows = table("Header")
    assert tuple(row["field"] for row in rows) == Header._fields
    position = 0
    for row in rows:
        assert int(row["offset"]) == position
        position += struct.calcsize("<" + FORMATS[row["type"]])
    assert position == HEADER_BYTES
    assert f"Version {VERSION}." in PAGE


def test_the_flags_table_is_the_flags() -> None:
    listed = {row["flag"]: int(row["value"]) for row in table("Flags")}
    assert listed == {name: value for name, value in vars(Flag).items() if name.isupper()}


def test_the_limits_table_is_the_limits() -> None:
    listed = {row["limit"]: int(row["value"].replace(",", "")) for row in table("Limits")}
    assert listed == {name: value for name, value in vars(limits_module).items() if name.endswith("_MAX")}


def test_the_hashes_and_the_checksum_on_the_page_are_right() -> None:
    assert f"`ABC` has {key_hash(b'ABC')}" in PAGE
    assert f"the empty key {key_hash(b'')}" in PAGE
    assert f"`{crc32c(b'123456789'):08x}`" in PAGE.replace("\n", " ")


def test_the_worked_example_is_the_batch_that_it_says() -> None:
    [listing] = re.findall(r"```hex\n(.*?)```", PAGE, re.DOTALL)
    head, body = listing.split("\n\n")
    for part, expected in ((head, worked_example().head), (body, worked_example().body)):
        lines = [re.fullmatch(r" ?(\d+)  ((?:[0-9a-f]{2} )*[0-9a-f]{2})  +\S.*", line) for line in part.splitlines()]
        found = b""
        for line in lines:
            assert line is not None
            assert int(line[1]) == len(found)
            found += bytes.fromhex(line[2])
        assert found == expected


# A reader that knows the page's tables and nothing of our code.


def read_header(raw: bytes) -> dict[str, Any]:
    rows = table("Header")
    numbers = struct.unpack_from("<" + "".join(FORMATS[row["type"]] for row in rows), raw)
    fields = dict(zip((row["field"] for row in rows), numbers, strict=True))
    return fields | {"magic": fields["magic"].decode()}


def read_columns(header: dict[str, Any], body: bytes) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    flags = {row["flag"] for row in table("Flags") if header["flags"] & int(row["value"])}
    position = 0
    for row in table("Body"):
        if row["column"] == "padding" or (row["flag"] and row["flag"] not in flags):
            continue
        count = entries(row["entries"], header, columns)
        form = f"<{count}{FORMATS[row['type']]}"
        columns[row["column"]] = struct.unpack_from(form, body, position)
        position += struct.calcsize(form)
    assert len(body) - position < 8 and not any(body[position:])
    return columns


def entries(rule: str, header: dict[str, Any], columns: dict[str, Any]) -> int:
    count: int = header["change_count"]
    counts: dict[str, int] = {
        "n": count,
        "n + 1": count + 1,
        "(n + 7) / 8": (count + 7) // 8,
        "tag_codes": header["tag_codes"],
        "tag_names + 1": header["tag_names"] + 1,
    }
    if rule in counts:
        return counts[rule]
    last: int = columns[rule.removeprefix("last of ")][-1]
    return last


def read_changes(header: dict[str, Any], columns: dict[str, Any]) -> list[dict[str, Any]]:
    names = pieces(columns["name_ends"], bytes(columns["names"]))
    tags = pieces(columns["tag_ends"], columns["tag_codes"])
    rows = []
    for i in range(header["change_count"]):
        series = header["first_series"] + i if header["connection"] else 0
        rows.append(
            {
                "offset": header["base_offset"] + columns.get("offsets", range(header["span"]))[i],
                "timestamp": columns["timestamps"][i] if "timestamps" in columns else header["first_timestamp"],
                "key": text(columns, "key", i),
                "value": text(columns, "value", i),
                "tags": [names[code].decode() for code in tags[i]],
                "connection": columns["connections"][i] if "connections" in columns else header["connection"],
                "series": columns["series"][i] if "series" in columns else series,
            }
        )
    return rows


def pieces(ends: tuple[int, ...], whole: Any) -> list[Any]:
    return [whole[start:end] for start, end in pairwise(ends)]


def text(columns: dict[str, Any], kind: str, i: int) -> str | None:
    bits = columns.get(f"{kind}_bits")
    if bits is not None and not bits[i // 8] >> i % 8 & 1:
        return None
    whole: str = pieces(columns[f"{kind}_ends"], bytes(columns[f"{kind}s"]))[i].hex()
    return whole


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "compressed"])
def test_the_tables_alone_are_enough_to_read_a_vector(name: str) -> None:
    raw, listed = vector(name)
    header = read_header(raw)
    assert header == listed["header"]
    assert header["crc"] == crc32c(raw[:92])
    assert header["body_crc"] == crc32c(raw[HEADER_BYTES:])
    columns = read_columns(header, raw[HEADER_BYTES:])
    assert list(columns["hashes"]) == listed["hashes"]
    assert read_changes(header, columns) == listed["changes"]


def test_the_page_says_where_the_vectors_are() -> None:
    assert FOLDER.relative_to(Path(__file__).parents[2]).as_posix() in PAGE
