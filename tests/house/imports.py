"""What a module imports, as absolute names: everywhere in it, also within functions and for types only."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from tests.house.rooms import ROOMS


@dataclass(frozen=True, slots=True)
class Import:
    """`import module` or `from module import name`, with the module's absolute name."""

    module: str
    name: str | None
    line: int

    @property
    def top(self) -> str:
        return self.module.split(".")[0]

    @property
    def room(self) -> str | None:
        """The room it leads into; None if that is none of ours."""
        if self.top != "hansard":
            return self.top if self.top in ROOMS else None
        if self.module != "hansard":
            return self.module.split(".")[1]
        return self.name if self.name in ROOMS else "__init__"


@cache
def parse(source: str) -> ast.Module:
    """The tree of a source; every rule looks at every file, so each is parsed once."""
    return ast.parse(source)


def imports_of(path: PurePosixPath, source: str) -> Iterator[Import]:
    for node in ast.walk(parse(source)):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(alias.name, None, node.lineno)
            case ast.ImportFrom(module=module, names=names, level=level):
                absolute = _absolute(path, module or "", level)
                for alias in names:
                    yield Import(absolute, alias.name, node.lineno)
            case ast.Call(func=func, args=[ast.Constant(value=str(module)), *_]) if _imports_by_name(func):
                yield Import(module, None, node.lineno)


def bound_to(module: str, source: str) -> frozenset[str]:
    """The names under which `import module` is known in a source."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(parse(source))
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == module
    )


def _absolute(path: PurePosixPath, module: str, level: int) -> str:
    if level == 0:
        return module
    # One dot is the package that the module is in, and for an __init__ that package itself: in both cases the
    # path without its last part.
    package = [part for part in path.parts if part != "src"][:-1]
    base = package[: len(package) - (level - 1)]
    return ".".join([*base, module] if module else base)


def _imports_by_name(func: ast.expr) -> bool:
    match func:
        case ast.Name(id="__import__" | "import_module"):
            return True
        case ast.Attribute(value=ast.Name(id="importlib"), attr="import_module"):
            return True
        case _:
            return False
