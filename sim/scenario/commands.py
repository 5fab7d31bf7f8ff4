"""The commands of a scenario, one a line.

appoint 1 a: a b c                 a government: epoch, leader, members; its edict reaches all of them
appoint 2 chain b: b c + d         of another shape than the scenario is run with, with a newcomer
appoint 2 b: b c to b              its edict reaches b only; `memory 10s`: how long it remembers a connection
tell c                             the newest edict reaches c as well
accept no | yes                    whether the atomic log accepts reports for now

submit a k=1 l=2                   one batch of changes; submissions are numbered from 1
  connection 7 series 3            ... of this stream; `previous 2` unless it says otherwise
  continues 6 after 9              ... which goes on after series 9 of connection 6
  deadline 2s                      ... 10 s unless it says otherwise
  epoch 2                          ... sent in the belief that the receiver leads epoch 2
read a [deadline 2s]               a linearizable read; reads are numbered from 1

run 5s | settle                    let time pass | until nothing is under way
cut a-c | cut a>c | heal [a-c]     lose messages, both ways or one way | and not any more
hold a>c | release a>c             keep messages back | deliver them, [reversed] and [twice], now
double a>c                         from now on everything comes twice
crash b [keeping 2]                it stops; so many of its writes that were not synced are on disk nevertheless
restart b                          it finds its disk, and the last edict that had reached it
pause b | resume b                 nothing happens to it meanwhile; then everything at once
disk b stall | go | 300ms          no sync ends | they end again | each takes this long
trim a 5                           retention: its log begins at 5
show                               a line for each participant
quiet | aloud                      leave all but answers and losses out of the trace | and not any more
"""

import re
from collections.abc import Callable

from hansard.batch import build
from hansard.phaser.event import Connected, Continues, Read, Submit, Trimmed
from hansard.phaser.government import Government, Shape

from .links import ways
from .stage import Stage
from .usual import USUAL
from .words import BadCommand, choice, duration_us, words


def perform(stage: Stage, line: str) -> None:
    name, _, rest = line.partition(" ")
    if name not in _COMMANDS:
        raise BadCommand(f"there is no command {name}")
    _COMMANDS[name](stage, rest.strip())


# Governments.

_APPOINTMENT = re.compile(
    r"(?P<epoch>\d+)( (?P<shape>star|chain))? (?P<leader>\w): (?P<members>\w( \w)*)( \+ (?P<newcomers>\w( \w)*?))?"
    r"( to (?P<told>\w( \w)*))?( memory (?P<memory>\w+))?"
)


def _appoint(stage: Stage, rest: str) -> None:
    found = _APPOINTMENT.fullmatch(rest)
    if found is None:
        raise BadCommand("write: appoint 2 [star|chain] b: b c [+ d] [to b c] [memory 10s]")
    government = Government(
        int(found["epoch"]),
        found["leader"],
        tuple(found["members"].split()),
        tuple((found["newcomers"] or "").split()),
        Shape(found["shape"] or stage.shape),
        duration_us(found["memory"] or "3600s"),
    )
    everybody = [*government.members, *government.newcomers]
    for name in everybody:
        stage.actor(name)
    stage.edicts.appoint(government)
    for name in (found["told"] or " ".join(everybody)).split():
        _tell(stage, name)


def _tell(stage: Stage, name: str) -> None:
    actor = stage.actor(name)
    actor.heard = stage.edicts.newest
    stage.hear(actor)


def _accept(stage: Stage, rest: str) -> None:
    stage.edicts.accepting = choice(rest, "yes", "no") == "yes"
    stage.judge_reports()


# Clients.


def _submit(stage: Stage, rest: str) -> None:
    options = ("connection", "series", "previous", "continues", "after", "deadline", "epoch")
    said = words(rest, *options)
    name, *changes = said.plain
    pairs = [change.partition("=") for change in changes]
    connection, series = said.number("connection", 0), said.number("series", 0)
    batch = build(
        [key for key, _, _ in pairs],
        [value for _, _, value in pairs],
        connection=connection,
        first_series=series,
        previous_series=said.number("previous", series - 1),
    )
    continues = None
    if "continues" in said.options:
        continues = Continues(said.number("continues", 0), said.number("after", -1))
    number = len(stage.submitted) + 1
    stage.submitted[number] = changes
    deadline_us = stage.now_us + said.duration_us("deadline", "10s")
    event = Submit(number, batch, deadline_us, said.number("epoch", 0), continues=continues)
    stage.happen(stage.actor(name), event)


def _read(stage: Stage, rest: str) -> None:
    said = words(rest, "deadline")
    (name,) = said.plain
    number = len(stage.asked) + 1
    stage.asked[number] = stage.kept_promises.acknowledged_end
    stage.happen(stage.actor(name), Read(number, stage.now_us + said.duration_us("deadline", "10s")))


# The network.


def _heal(stage: Stage, rest: str) -> None:
    """Both ends learn that the way is there again."""
    healed = ways(rest) if rest else sorted(stage.links.cut)
    stage.links.cut.difference_update(healed)
    for one, other in healed:
        if stage.links.is_whole(one, other):
            stage.happen(stage.actor(one), Connected(other))
            if (other, one) not in healed:
                stage.happen(stage.actor(other), Connected(one))


# Participants.


def _crash(stage: Stage, rest: str) -> None:
    said = words(rest, "keeping")
    (name,) = said.plain
    actor = stage.actor(name)
    count = actor.drive.unsynced_count
    kept = stage.chances.choose(count) if said.options.get("keeping") == "any" else said.number("keeping", 0)
    if kept > count:
        raise BadCommand(f"there are only {count} writes that were not synced")
    actor.drive.crash(kept)
    actor.alive = False
    stage.tell(f"{name}  is down, {count - kept} writes lost; on disk the log ends at {actor.drive.synced.end}")


def _restart(stage: Stage, name: str) -> None:
    """Whoever has a way to it learns that it is there again."""
    actor = stage.actor(name)
    actor.restart()
    stage.tell(f"{name}  is back, {actor.part()}")
    stage.hear(actor)
    for other in list(stage.actors):
        if other != name and stage.links.is_whole(name, other):
            stage.happen(stage.actors[other], Connected(name))


def _pause(stage: Stage, name: str) -> None:
    stage.actor(name).paused = True


def _resume(stage: Stage, name: str) -> None:
    actor = stage.actor(name)
    actor.paused = False
    waited, actor.inbox = actor.inbox, []
    for event in waited:
        stage.happen(actor, event)


def _disk(stage: Stage, rest: str) -> None:
    name, what = rest.split()
    actor = stage.actor(name)
    if what == "stall":
        actor.drive.stalled = True
        actor.drive.stalls += 1
    elif what == "go":
        stage.go_on_syncing(actor)
    else:
        actor.drive.sync_us = duration_us(what)


def _trim(stage: Stage, rest: str) -> None:
    name, start = rest.split()
    actor = stage.actor(name)
    ledger = actor.phaser.ledger
    needed = min(ledger.committed, ledger.saved_synced)  # with no regard to who is being sent it, as if by force
    if int(start) > needed:
        raise BadCommand(f"retention may take what is before {needed} only: a restart needs the rest")
    actor.drive.trim(int(start))
    stage.tell(f"{name}  log begins at {start}")
    stage.happen(actor, Trimmed(int(start)))


def _show(stage: Stage, _: str) -> None:
    for actor in stage.actors.values():
        stage.tell(actor.state())


_COMMANDS: dict[str, Callable[[Stage, str], None]] = {
    **USUAL,
    "appoint": _appoint,
    "tell": _tell,
    "accept": _accept,
    "submit": _submit,
    "read": _read,
    "heal": _heal,
    "crash": _crash,
    "restart": _restart,
    "pause": _pause,
    "resume": _resume,
    "disk": _disk,
    "trim": _trim,
    "show": _show,
}
