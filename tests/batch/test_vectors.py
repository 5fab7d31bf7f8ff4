"""The format does not change by accident: batches built today are, byte for byte, those in vectors/."""

import json
from typing import Any

import pytest

from hansard.batch import verify
from tests.batch.recipes import FOLDER, RECIPES, expected


def vector(name: str) -> tuple[bytes, dict[str, Any]]:
    listed: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return bytes.fromhex((FOLDER / f"{name}.hex").read_text()), listed


def test_every_vector_has_its_recipe() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_vector_opens_to_what_is_listed(name: str) -> None:
    raw, listed = vector(name)
    assert expected(verify(raw)) == listed


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "compressed"])
def test_a_recipe_builds_the_very_bytes(name: str) -> None:
    assert RECIPES[name]().to_bytes() == vector(name)[0]


def test_what_was_compressed_decompresses_to_the_very_bytes() -> None:
    """The compressed bytes themselves are up to the release of zstd."""
    raw, _ = vector("compressed")
    assert verify(raw).decompressed() == RECIPES["compressed"]().decompressed()
