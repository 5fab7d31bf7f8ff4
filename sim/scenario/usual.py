"""Commands that mean the same on every stage: those about ways, time and the trace."""

from collections.abc import Callable, Mapping
from typing import Any

from .links import Way, ways
from .scene import Scene
from .words import BadCommand, duration_us

AnyScene = Scene[Any]


def _cut(scene: AnyScene, rest: str) -> None:
    scene.links.cut.update(ways(rest))


def _hold(scene: AnyScene, rest: str) -> None:
    for way in ways(rest):
        scene.links.held.setdefault(way, [])


def _release(scene: AnyScene, rest: str) -> None:
    where, *how = rest.split()
    if not set(how) <= {"reversed", "twice"}:
        raise BadCommand("write: release a>b [reversed] [twice]")
    for way in ways(where):
        _let_go(scene, way, how)


def _let_go(scene: AnyScene, way: Way, how: list[str]) -> None:
    held = scene.links.held.pop(way, [])
    for message in reversed(held) if "reversed" in how else held:
        for _ in range(2 if "twice" in how else 1):
            scene.deliver(*way, message)


def _double(scene: AnyScene, rest: str) -> None:
    scene.links.doubling.update(ways(rest))


def _run(scene: AnyScene, rest: str) -> None:
    if rest.startswith("any "):
        scene.run(scene.chances.choose(duration_us(rest.removeprefix("any ")) // 1000) * 1000)
    else:
        scene.run(duration_us(rest))


def _settle(scene: AnyScene, _: str) -> None:
    scene.settle()


def _quiet(scene: AnyScene, _: str) -> None:
    scene.quiet = True


def _aloud(scene: AnyScene, _: str) -> None:
    scene.quiet = False


USUAL: Mapping[str, Callable[[AnyScene, str], None]] = {
    "cut": _cut,
    "hold": _hold,
    "release": _release,
    "double": _double,
    "run": _run,
    "settle": _settle,
    "quiet": _quiet,
    "aloud": _aloud,
}
