"""`hansard log info`, `verify` and `repair`."""

from collections.abc import Iterator
from typing import Any

import typer

import hansard
from hansard.embedded import Info
from hansard.storage.errors import Corrupt
from hansard.storage.scrub import Report

from .output import json_line, size_text, time_text, write_lines
from .progress import Progress


def info(directory: str, *, as_json: bool) -> None:
    with hansard.open(directory, read_only=True) as log:
        found = log.info()
    write_lines([json_line(_json_info(found))] if as_json else _info_lines(found))


def _json_info(found: Info) -> dict[str, Any]:
    return {
        **found._asdict(),
        "first_time": None if found.first_time is None else time_text(found.first_time),
        "last_time": None if found.last_time is None else time_text(found.last_time),
        "holds": [{**hold._asdict(), "expires": time_text(hold.expires)} for hold in found.holds],
    }


def _info_lines(found: Info) -> Iterator[str]:
    yield f"log       {found.log_id} in {found.path}"
    if found.first_time is None or found.last_time is None:
        yield f"changes   none; the next one gets offset {found.end}"
    else:
        yield f"changes   offsets {found.start} to {found.end - 1}"
        yield f"times     {time_text(found.first_time)} to {time_text(found.last_time)}"
    unfiled = f"{size_text(found.unfiled_bytes)} of them in the journal"
    yield f"stored    {size_text(found.byte_count)}, {unfiled}; {found.segments} segments"
    for hold in found.holds:
        yield f"hold      {hold.name}: from offset {hold.offset} on, until {time_text(hold.expires)}"
    for damage in found.damage:
        yield f"damage    {damage}"


def verify(directory: str, *, deep: bool, as_json: bool) -> None:
    with hansard.open(directory, read_only=True) as log:
        total = log.info().byte_count
        done_before = 0
        with Progress("verifying", "bytes", total=total) as progress:

            def show(done: int, _: int) -> None:
                nonlocal done_before
                progress.advance(done - done_before)
                done_before = done

            report = log.verify(deep=deep, progress=show)
    write_lines([json_line(_json_report(report))] if as_json else _report_lines(report))
    if report.damage:
        raise typer.Exit(1)


def repair(directory: str, *, give_up: bool, as_json: bool) -> None:
    with hansard.open(directory, create=False, read_only=not give_up) as log:
        damage = log.give_up_damaged() if give_up else log.verify().damage
    if as_json:
        write_lines([json_line({"given_up": give_up, "damage": [_json_damage(found) for found in damage]})])
    else:
        write_lines(_repair_lines(damage, directory, give_up=give_up))
    if damage and not give_up:
        raise typer.Exit(1)


def _repair_lines(damage: list[Corrupt], directory: str, *, give_up: bool) -> Iterator[str]:
    yield from (f"{'given up' if give_up else 'damaged'}: {found}" for found in damage)
    if not damage:
        yield "nothing is damaged"
    elif not give_up:
        yield "Nothing was changed. If there is a copy of the directory, use that: what is given up is lost for good."
        yield f"To go on without what is damaged: hansard log repair {directory} --give-up"


def _json_report(report: Report) -> dict[str, Any]:
    return {**report._asdict(), "damage": [_json_damage(found) for found in report.damage]}


def _json_damage(found: Corrupt) -> dict[str, Any]:
    return {
        "file": found.path,
        "position": found.position,
        "length": found.length,
        "reason": found.reason,
        "bucket": found.bucket,
        "first": found.first,
        "end": found.end,
    }


def _report_lines(report: Report) -> Iterator[str]:
    yield from (f"damaged: {found}" for found in report.damage)
    verdict = f"{len(report.damage)} places are damaged" if report.damage else "nothing is damaged"
    yield (
        f"{verdict}: looked at {report.changes:,} changes in {report.batches:,} batches, "
        f"{size_text(report.byte_count)}, {report.segments} segments"
    )
