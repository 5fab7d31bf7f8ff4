"""What `hansard recover` finds, says, asks and does."""

import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill

import typer

from hansard.consensus import recovery
from hansard.consensus.cluster import NO_CLUSTER, Peer
from hansard.consensus.disk import recovered
from hansard.consensus.errors import ConsensusError, OnlyVoter
from hansard.consensus.facts import Facts
from hansard.consensus.home import BUCKET, Home, enter, look_into
from hansard.consensus.recovery import Copy, Finding, Plan
from hansard.storage.disk import RealDisk
from hansard.storage.errors import StorageError

from .failure import fail
from .output import write_lines

WIDTH = 100


def recover(directory: str, survivors: Sequence[str], *, force: bool, yes: bool) -> None:
    paths = [Path(path).resolve() for path in (directory, *survivors)]
    if len(set(paths)) < len(paths):
        raise fail("a directory is given twice", 2)
    with _entered(directory) as home:
        copies = [_copy(directory, home, "give another survivor's directory first")]
        for survivor in survivors:
            with _looked_into(survivor) as other:
                copies.append(_copy(survivor, other, "leave it out, if another copy is whole"))
        write_lines(_paragraph(_found(recovery.find(copy, Facts()))) for copy in copies)
        founder = Peer(home.node, _new_life())
        plan = recovery.plan(copies, founder, Facts(), force=force)
        write_lines(_plan_lines(plan, directory, home))
        _confirm("Make the new cluster?", yes=yes)
        folder = home.replace(plan.writes(), founded=True)
    name = f"incarnation {plan.cluster.incarnation} of cluster {plan.cluster.id}"
    write_lines([f"Done: {founder.node} is {name}, in {Path(directory) / folder}. Start it."])


def rejoin(directory: str, survivors: Sequence[str], *, force: bool, yes: bool) -> None:
    if survivors:
        raise fail("--rejoin is for one directory at a time", 2)
    with _entered(directory) as home:
        try:
            finding = recovery.find(_read(directory, home), Facts())
        except (StorageError, ConsensusError) as error:  # that may be why it is put aside
            write_lines([_paragraph(f"{directory} ({home.node}): {error}")])
        else:
            write_lines([_paragraph(_found(finding))])
            if finding.voters == (finding.peer,) and not force:
                raise OnlyVoter(home.node)
        write_lines(_rejoin_lines(directory, home))
        _confirm("Put it aside?", yes=yes)
        home.replace((), founded=False)
    write_lines([f"Done: start {home.node} with the address of somebody who takes part, and it joins."])


def _new_life() -> int:
    return secrets.randbelow((1 << 62) - 1) + 1


def _entered(directory: str) -> Home:
    try:
        return enter(RealDisk(Path(directory)))
    except (StorageError, ConsensusError) as error:
        raise fail(f"{directory}: {error}") from error


def _looked_into(directory: str) -> Home:
    try:
        return look_into(RealDisk(Path(directory)))
    except (StorageError, ConsensusError) as error:
        raise fail(f"{directory}: {error}") from error


def _copy(directory: str, home: Home, otherwise: str) -> Copy:
    try:
        return _read(directory, home)
    except (StorageError, ConsensusError) as error:
        raise fail(f"{directory}: {error} ({otherwise})") from error


def _read(directory: str, home: Home) -> Copy:
    store = home.atomic(read_only=True)
    try:
        return Copy(directory, home.node, recovered(store, BUCKET))
    finally:
        store.close()


def _confirm(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise fail("nothing was changed: there is no terminal to ask on; --yes does it without asking")
    if not typer.confirm(question):
        raise fail("nothing was changed")


# What is said.


def _found(finding: Finding) -> str:
    who = f"{finding.place} ({finding.peer.node})"
    if finding.cluster == NO_CLUSTER:
        return f"{who}: empty, it has not joined a cluster"
    cluster = f"cluster {finding.cluster.id}, incarnation {finding.cluster.incarnation}"
    last = f"{finding.end} entries, the last of term {finding.last_term}" if finding.end else "no entries"
    return f"{who}: {cluster}, term {finding.term}, {last}, voters {_names(finding.voters)}"


def _names(peers: Sequence[Peer]) -> str:
    return ", ".join(peer.node for peer in peers) or "unknown"


def _plan_lines(plan: Plan, directory: str, home: Home) -> Iterator[str]:
    chosen, node = plan.chosen, plan.founder.node
    voters = f"Of the voters {_names(chosen.voters)} there are {_names(plan.present) if plan.present else 'none'}"
    yield ""
    yield _paragraph(f"{voters}; {_names(plan.missing)} are missing." if plan.missing else f"{voters}.")
    yield ""
    yield "What will be done:"
    yield _item(
        f"The cluster goes on as incarnation {plan.cluster.incarnation}, from the copy in {chosen.place}: all of its "
        f"{chosen.end} entries count, and nothing is cut off."
    )
    yield _item(f"{node} is its only voter, until others have joined.")
    yield _item(f"The old atomic log stays in {Path(directory) / home.deed.atomic}, and is not used any more.")
    yield ""
    yield "What cannot be known:"
    yield from map(_item, recovery.unknowns(plan))
    yield ""
    yield "What is left to do:"
    yield _item(
        f"On each other survivor run `hansard recover --rejoin DIR`, and start it with {node}'s address. "
        "Incarnation "
        f"{chosen.cluster.incarnation} is another cluster from now on: what its participants say is refused."
    )
    yield _item("Do this in one place only: two recoveries of one cluster are two clusters of one name.")
    yield ""


def _rejoin_lines(directory: str, home: Home) -> Iterator[str]:
    yield ""
    yield "What will be done:"
    yield _item(
        f"{home.node} forgets what it knew of the atomic log, and what it has voted for. It joins in a new life "
        "whichever cluster it is started with. Its data stays."
    )
    yield _item(f"The old atomic log stays in {Path(directory) / home.deed.atomic}, and is not used any more.")
    yield ""
    yield "What cannot be known:"
    yield _item(
        "Whether the others can do without it. That is so where they were recovered, or where most of the voters are "
        "well without this one. Where most voters forget, their cluster is lost."
    )
    yield ""


def _paragraph(text: str, indent: str = "") -> str:
    return fill(
        text, WIDTH, initial_indent=indent, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _item(text: str) -> str:
    return _paragraph(text, "- ")
