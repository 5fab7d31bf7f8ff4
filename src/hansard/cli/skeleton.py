"""`hansard skeleton`: one of the participants of a fixed government. It will be replaced by `hansard start`."""

import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .failure import fail


class ShapeName(StrEnum):
    STAR = "star"
    CHAIN = "chain"


def skeleton(
    directory: Annotated[Path, typer.Argument(help="Where this participant keeps its data.")],
    me: Annotated[str, typer.Option(help="This participant's name.")],
    participant: Annotated[
        list[str], typer.Option(help="NAME=HOST:PORT of each participant, this one too; all are members.")
    ],
    leader: Annotated[str, typer.Option(help="The name of the one that leads.")],
    shape: Annotated[ShapeName, typer.Option(help="The way of a batch through the members.")] = ShapeName.STAR,
    epoch: Annotated[int, typer.Option(min=1, help="Of the government; a changed one needs a higher one.")] = 1,
    verbose: Annotated[bool, typer.Option(help="Log more.")] = False,
) -> None:
    """Run one participant of a government that never changes."""
    from hansard.phaser.government import Shape  # noqa: PLC0415
    from hansard.server.skeleton import Plan, run  # noqa: PLC0415

    addresses = dict(_address(text) for text in participant)
    for name in (me, leader):
        if name not in addresses:
            raise fail(f"{name} is not among the participants ({', '.join(addresses)}): add --participant", 2)
    if len(addresses) < len(participant):
        raise fail("two participants have the same name", 2)
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if verbose else logging.INFO,
        format=f"%(asctime)s {me}: %(message)s",
    )
    run(Plan(directory=directory, me=me, participants=addresses, leader=leader, shape=Shape(shape.value), epoch=epoch))


def _address(text: str) -> tuple[str, tuple[str, int]]:
    name, _, address = text.partition("=")
    host, _, port = address.rpartition(":")
    if not (name and host and port.isdigit() and 0 < int(port) < 65536):
        raise fail(f"{text!r} is no NAME=HOST:PORT", 2)
    return name, (host.strip("[]"), int(port))
