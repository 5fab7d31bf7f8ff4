"""The commands of a scenario of the atomic log, one a line.

found a [cluster two]              a new cluster, called one unless it says otherwise
join b via a c                     one that knows nothing but these addresses
  at b:2 | zone north | rules 2    ... its address, b:1 unless it says otherwise; where it is; the rules that it knows
  as c                             ... it has taken this name, and is called c' here
assemble a b c [rules 2]           found the first and join the others, one second, without a trace
recover b from b c                 the majority is lost: b's disk is made the next incarnation's, from the better copy

propose a x y                      proposals are numbered from 1
read b                             a linearizable read; reads are numbered from 1
leave c | leave c on a             c wants to go | a is told to give c up
transfer a b | transfer a          a, if it leads, hands over to b | to whoever is closest
raise 2 on a                       newer rules are proposed

run 5s | run any 20ms | settle     let time pass | each such while, in a play of its own | until nothing is under way
timeout b                          b has waited long enough for a leader, and wants to be elected
patient                            from now on nobody wants to be elected by itself before six seconds without a leader
cut a-c | cut a>c | heal [a-c]     lose messages, both ways or one way | and not any more
hold a>c [append] | release a>c    keep messages back, of kinds | deliver them, [reversed] and [twice], now
hold a>c nothing                   no more of them; those that are kept back stay so
let 1 a>c [part] | lose a>c        deliver the first of those that are kept back | lose them, and keep no more back
double a>c                         from now on everything comes twice
crash b [keeping 2]                it stops; so many of its writes that were not synced are on disk nevertheless
restart b [at b:2] [rules 2]       it finds its disk; `via c` to ask others than before
wipe b                             its disk is empty; it is down
move b b:2                         it stops and is back at once, under another address
pause b | resume b [late]          nothing happens to it meanwhile; then everything at once, [after its clock]
disk b stall | go | 300ms          no sync ends | they end again | each takes this long
show                               a line for each participant
quiet | aloud                      leave most of it out of the trace | and not any more
"""

from collections.abc import Callable

from hansard.consensus import recovery
from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.event import Event, Leave, Propose, Raise, Read, Tick, Transfer
from hansard.consensus.recovered import founding
from hansard.consensus.recovery import Copy
from sim.scenario.links import ways
from sim.scenario.usual import USUAL
from sim.scenario.words import BadCommand, Words, duration_us, words

from . import wording
from .actor import Actor
from .register import Register
from .stage import Stage, is_of

PATIENCE = 19
"""Times the shortest time in which a leader is missed."""


def perform(stage: Stage, line: str) -> None:
    name, _, rest = line.partition(" ")
    if name not in _COMMANDS:
        raise BadCommand(f"there is no command {name}")
    _COMMANDS[name](stage, rest.strip())


# Clusters.


def _equip(actor: Actor, said: Words) -> None:
    actor.address = said.options.get("at", actor.address)
    actor.zone = said.options.get("zone", actor.zone)
    actor.rules_max = said.number("rules", actor.rules_max)


def _found(stage: Stage, rest: str) -> None:
    said = words(rest, "cluster", "at", "zone", "rules")
    (name,) = said.plain
    actor = stage.new_actor(name)
    _equip(actor, said)
    cluster = ClusterId(said.options.get("cluster", "one"))
    actor.drive.write_at_once(founding(cluster, Peer(name, actor.draw_life())))
    stage.start(actor)


def _join(stage: Stage, rest: str) -> None:
    said = words(rest, "at", "zone", "rules", "as")
    name, *seeds = [word for word in said.plain if word != "via"]
    actor = stage.new_actor(name)
    _equip(actor, said)
    if "as" in said.options:
        actor.node, actor.lives = said.options["as"], 1
    actor.seeds = _addresses(stage, seeds)
    stage.start(actor)


def _addresses(stage: Stage, names: list[str]) -> tuple[str, ...]:
    return tuple([stage.actors[name].address if name in stage.actors else name for name in names])


def _assemble(stage: Stage, rest: str) -> None:
    said = words(rest, "rules")
    first, *others = said.plain
    options = "".join([f" {option} {value}" for option, value in said.options.items()])
    quiet, stage.quiet = stage.quiet, True
    _found(stage, f"{first}{options}")
    for other in others:
        _join(stage, f"{other} via {first}{options}")
    told = len(stage.lines)
    stage.run(1_000_000)
    del stage.lines[told:]
    stage.quiet = quiet
    _show(stage, "")


def _recover(stage: Stage, rest: str) -> None:
    name, _, *sources = rest.split()
    actors = [stage.actor(source) for source in sources]
    if any(actor.alive for actor in [stage.actor(name), *actors]):
        raise BadCommand("they are not down")
    actor = stage.actor(name)
    copies = [Copy(source.name, source.node, source.drive.recovered()) for source in actors]
    plan = recovery.plan(copies, Peer(actor.node, actor.draw_life()), Register())
    actor.drive.wipe()
    actor.drive.write_at_once(plan.writes())
    actor.told_end = 0
    stage.tell(
        f"{name}  has {wording.cluster(plan.cluster)} on disk, from {plan.chosen.place}'s copy: {plan.state.end}"
    )


# What is wanted of the log.


def _propose(stage: Stage, rest: str) -> None:
    name, *contents = rest.split()
    events: list[Event] = []
    for content in contents:
        number = len(stage.proposed) + 1
        stage.proposed[number] = content
        events.append(Propose(number, content.encode()))
    stage.happen(stage.actor(name), *events)


def _read(stage: Stage, name: str) -> None:
    stage.read_count += 1
    actor = stage.actor(name)
    stage.kept_promises.reads(actor, stage.read_count)
    stage.happen(actor, Read(stage.read_count))


def _leave(stage: Stage, rest: str) -> None:
    said = words(rest, "on")
    (name,) = said.plain
    stage.happen(stage.actor(said.options.get("on", name)), Leave(name))


def _transfer(stage: Stage, rest: str) -> None:
    name, *heir = rest.split()
    stage.happen(stage.actor(name), Transfer(*heir))


def _raise(stage: Stage, rest: str) -> None:
    said = words(rest, "on")
    (rules,) = said.plain
    stage.happen(stage.actor(said.options["on"]), Raise(int(rules)))


# Time and ways.


def _timeout(stage: Stage, name: str) -> None:
    actor = stage.actor(name)
    actor.core.seat.deadline_us = stage.now_us
    stage.happen(actor, Tick())


def _patient(stage: Stage, _: str) -> None:
    for actor in stage.actors.values():
        actor.jitter = PATIENCE
        if actor.alive:
            actor.core.seat.deadline_us = stage.now_us + PATIENCE * stage.settings.election_us


def _heal(stage: Stage, rest: str) -> None:
    stage.links.cut.difference_update(ways(rest) if rest else list(stage.links.cut))


def _hold(stage: Stage, rest: str) -> None:
    where, *kinds = rest.split()
    for way in ways(where):
        stage.links.held.setdefault(way, [])
        stage.kinds[way] = kinds


def _let(stage: Stage, rest: str) -> None:
    count, where, *kinds = rest.split()
    for way in ways(where):
        held = stage.links.held[way]
        chosen = [send for send in held if is_of(send, kinds)][: int(count)]
        if len(chosen) < int(count):
            raise BadCommand(f"there are only {len(chosen)} such messages that are kept back")
        stage.links.held[way] = [send for send in held if send not in chosen]
        for send in chosen:
            stage.deliver(*way, send)


def _lose(stage: Stage, rest: str) -> None:
    for way in ways(rest):
        stage.tell_detail(f"{way[0]} -> {way[1]}  {len(stage.links.held.pop(way))} messages are lost")


# Participants.


def _crash(stage: Stage, rest: str) -> None:
    said = words(rest, "keeping")
    (name,) = said.plain
    actor = stage.actor(name)
    count = len(actor.drive.unsynced_writes())
    kept = stage.chances.choose(count) if said.options.get("keeping") == "any" else said.number("keeping", 0)
    if kept > count:
        raise BadCommand(f"there are only {count} writes that were not synced")
    actor.drive.crash(kept)
    actor.alive = False
    stage.tell(f"{name}  is down, {count - kept} writes lost; on disk log to {actor.drive.synced.end}")


def _restart(stage: Stage, rest: str) -> None:
    said = words(rest, "at", "zone", "rules", "via")
    (name,) = said.plain
    actor = stage.actor(name)
    _equip(actor, said)
    if "via" in said.options:
        actor.seeds = _addresses(stage, [said.options["via"]])
    at = f" at {actor.address}" if "at" in said.options else ""
    stage.tell(f"{name}  is back{at}, log to {actor.drive.synced.end}")
    stage.start(actor)


def _wipe(stage: Stage, name: str) -> None:
    actor = stage.actor(name)
    if actor.alive:
        raise BadCommand(f"{name} is not down")
    actor.drive.wipe()
    stage.tell(f"{name}  has an empty disk")


def _move(stage: Stage, rest: str) -> None:
    name, address = rest.split()
    _crash(stage, name)
    _restart(stage, f"{name} at {address}")


def _pause(stage: Stage, name: str) -> None:
    stage.actor(name).paused = True


def _resume(stage: Stage, rest: str) -> None:
    name, *how = rest.split()
    actor = stage.actor(name)
    actor.paused = False
    waited, actor.inbox = actor.inbox, []
    if how == ["late"]:
        stage.happen(actor, Tick())
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


def _show(stage: Stage, _: str) -> None:
    for actor in stage.actors.values():
        stage.tell(actor.state())


_COMMANDS: dict[str, Callable[[Stage, str], None]] = {
    **USUAL,
    "found": _found,
    "join": _join,
    "assemble": _assemble,
    "recover": _recover,
    "propose": _propose,
    "read": _read,
    "leave": _leave,
    "transfer": _transfer,
    "raise": _raise,
    "timeout": _timeout,
    "patient": _patient,
    "heal": _heal,
    "hold": _hold,
    "let": _let,
    "lose": _lose,
    "crash": _crash,
    "restart": _restart,
    "wipe": _wipe,
    "move": _move,
    "pause": _pause,
    "resume": _resume,
    "disk": _disk,
    "show": _show,
}
