"""The rules as functions: a path within the repository and a source go in, what offends in it comes out.

Nothing here looks at the disk, so that test_rules_bite.py can plant an offence and see it caught.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tests.house import rooms
from tests.house.imports import Import, bound_to, imports_of, parse
from tests.house.rooms import ROOMS, Ban


@dataclass(frozen=True, slots=True)
class Offence:
    path: PurePosixPath
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


Rule = Callable[[PurePosixPath, str], Iterator[Offence]]


def room_of(path: PurePosixPath) -> str | None:
    """The room that a file is in; None outside of src."""
    match path.parts:
        case ("src", "hansard", name):
            return name.removesuffix(".py")
        case ("src", "hansard", folder, *_):
            return folder
        case ("src", package, *_):
            return package.removesuffix(".py")
        case _:
            return None


def every_room_has_a_row(path: PurePosixPath, source: str) -> Iterator[Offence]:
    name = room_of(path)
    if name is not None and name not in ROOMS:
        yield Offence(path, 1, f"{name} is no room yet: add its row to ROOMS in tests/house/rooms.py")


def rooms_import_what_their_row_permits(path: PurePosixPath, source: str) -> Iterator[Offence]:
    name = room_of(path)
    if name is None or name not in ROOMS:
        return
    row = ROOMS[name]
    for imported in imports_of(path, source):
        target = imported.room
        if imported.top in rooms.OUTSIDE:
            yield Offence(path, imported.line, f"{name} imports {imported.top}, which is not installed")
        elif target not in (None, name) and row.imports is not None and target not in row.imports:
            permitted = ", ".join(sorted(row.imports)) or "nothing of ours"
            what = f"{name} imports {target}; it may import {permitted}: {row.why}"
            yield Offence(path, imported.line, what)


def banned_modules_stay_out(path: PurePosixPath, source: str) -> Iterator[Offence]:
    for ban in (ban for ban in rooms.BANS if _applies(ban, path)):
        for imported in imports_of(path, source):
            if imported.top in ban.modules:
                yield Offence(path, imported.line, f"imports {imported.top}: {ban.modules[imported.top]}")
        for node in ast.walk(parse(source)):
            match node:
                case ast.Call(func=ast.Name(id=called)) if called in ban.builtins:
                    yield Offence(path, node.lineno, f"calls {called}(): {ban.builtins[called]}")
                case _:
                    pass


def randomness_is_seeded(path: PurePosixPath, source: str) -> Iterator[Offence]:
    if not _under(path, rooms.SEEDED):
        return
    for imported in imports_of(path, source):
        if imported.module == "random" and imported.name not in (None, "Random"):
            yield Offence(path, imported.line, f"imports random.{imported.name}: pass a Random along")
    modules = bound_to("random", source)
    for node in ast.walk(parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr="Random") if module in modules:
                pass
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
                yield Offence(path, node.lineno, f"uses random.{name}: pass a Random along")
            case ast.Call(
                func=ast.Name(id="Random") | ast.Attribute(attr="Random"),
                args=[] | [ast.Constant(value=None)],
                keywords=[],
            ):
                yield Offence(path, node.lineno, "random.Random() without a seed differs from run to run")
            case _:
                pass


def files_and_functions_stay_short(path: PurePosixPath, source: str) -> Iterator[Offence]:
    lines = len(source.splitlines())
    if lines > rooms.FILE_LINES_MAX:
        yield Offence(path, lines, f"{lines} lines, over {rooms.FILE_LINES_MAX}: it is two nouns")
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = _lines_without_docstring(node)
            if lines > rooms.FUNCTION_LINES_MAX:
                what = f"{node.name} has {lines} lines, over {rooms.FUNCTION_LINES_MAX}"
                yield Offence(path, node.lineno, what)


def modules_are_named_for_a_noun(path: PurePosixPath, source: str) -> Iterator[Offence]:
    for part in (*path.parts[:-1], path.stem):
        if part.strip("_").split("_")[-1] in rooms.NO_NOUN:
            yield Offence(path, 1, f"{part} says nothing: what is in it lives with its noun")


def tests_neither_mock_nor_sleep(path: PurePosixPath, source: str) -> Iterator[Offence]:
    if not _under(path, ("tests",)):
        return
    for imported in imports_of(path, source):
        if _is_mock(imported):
            yield Offence(path, imported.line, "imports mock: use the fakes in sim/")
        if (imported.module, imported.name) == ("time", "sleep"):
            yield Offence(path, imported.line, "imports time.sleep: wait on a condition with a deadline")
    clocks = bound_to("time", source)
    for node in ast.walk(parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr="sleep") if module in clocks:
                yield Offence(path, node.lineno, "time.sleep: wait on a condition with a deadline")


def broad_excepts_have_a_reason(path: PurePosixPath, source: str) -> Iterator[Offence]:
    if not _under(path, ("src",)):
        return
    for function, line in broad_excepts(source):
        if (str(path), function) not in rooms.BROAD_EXCEPTS:
            what = f"{function or 'the module'} catches everything: catch what it can handle"
            yield Offence(path, line, f"{what}, or add a reason to BROAD_EXCEPTS in tests/house/rooms.py")


def text_names_no_machine(path: PurePosixPath, source: str) -> Iterator[Offence]:
    """For files of every kind, not only Python."""
    for number, line in enumerate(source.splitlines(), start=1):
        for folder in rooms.MACHINE_PATHS:
            # Within a longer path it is an ordinary name, as in docs/work/plan.md.
            if re.search(r"(?<![\w.})-])" + re.escape(folder), line):
                yield Offence(path, number, f"names {folder}, a folder of one particular machine")


RULES: tuple[Rule, ...] = (
    every_room_has_a_row,
    rooms_import_what_their_row_permits,
    banned_modules_stay_out,
    randomness_is_seeded,
    files_and_functions_stay_short,
    modules_are_named_for_a_noun,
    tests_neither_mock_nor_sleep,
    broad_excepts_have_a_reason,
)
"""The rules for Python; `text_names_no_machine` is for every file."""


def broad_excepts(source: str) -> Iterator[tuple[str, int]]:
    """Where everything is caught: the qualified name of the function, empty for the module, and the line."""
    return _broad_excepts_in(parse(source), "")


def _broad_excepts_in(node: ast.AST, scope: str) -> Iterator[tuple[str, int]]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            scope = f"{scope}.{name}" if scope else name
        case ast.ExceptHandler(type=caught, lineno=line) if caught is None or _is_broad(caught):
            yield scope, line
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=args, lineno=line):
            if any(_is_broad(caught) for caught in args):
                yield scope, line
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _broad_excepts_in(child, scope)


def _is_broad(caught: ast.expr) -> bool:
    match caught:
        case ast.Tuple(elts=several):
            return any(_is_broad(one) for one in several)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("Exception", "BaseException")
        case _:
            return False


def _is_mock(imported: Import) -> bool:
    whole = f"{imported.module}.{imported.name}" if imported.name else imported.module
    return imported.top == "mock" or whole == "unittest.mock" or whole.startswith("unittest.mock.")


def _lines_without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert node.end_lineno is not None
    lines = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node, clean=False) is not None:
        docstring = node.body[0]
        assert docstring.end_lineno is not None
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


def _applies(ban: Ban, path: PurePosixPath) -> bool:
    return _under(path, ban.folders) and str(path) not in ban.exempt


def _under(path: PurePosixPath, folders: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
