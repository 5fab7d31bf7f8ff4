"""What becomes of an error: one line on stderr and exit code 1, where the user can do something about it.

Anything else is a mistake of ours and shows its traceback. Usage errors are Typer's, with exit code 2.
"""

import os
import sys
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

INTERRUPTED = 130
PIPE_CLOSED = 141
"""As a shell reports a command that was ended by SIGINT, or by SIGPIPE."""


def fail(message: str, code: int = 1) -> typer.Exit:
    """Says why on stderr; to be raised."""
    typer.echo(f"hansard: {' '.join(message.split())}", err=True)
    return typer.Exit(code)


def known_errors() -> tuple[type[Exception], ...]:
    """Errors that say what to do next. A room that is not loaded cannot have raised one, and stays unloaded."""
    found: list[type[Exception]] = [OSError]
    if "hansard.batch" in sys.modules:
        from hansard.batch import BatchError  # noqa: PLC0415

        found.append(BatchError)
    if "hansard.storage.errors" in sys.modules:
        from hansard.storage.errors import StorageError  # noqa: PLC0415

        found.append(StorageError)
    if "hansard.bookmark" in sys.modules:
        from hansard.bookmark import LogError  # noqa: PLC0415

        found.append(LogError)
    if "hansard.consensus.errors" in sys.modules:
        from hansard.consensus.errors import ConsensusError  # noqa: PLC0415

        found.append(ConsensusError)
    if "hansard.client.errors" in sys.modules:
        from hansard.client.errors import ClientError  # noqa: PLC0415

        found.append(ClientError)
    if "hansard.pipeline.manifest" in sys.modules:
        from hansard.pipeline.manifest import ArchiveError  # noqa: PLC0415

        found.append(ArchiveError)
    if "hansard.server.errors" in sys.modules:
        from hansard.server.errors import ServerError  # noqa: PLC0415

        found.append(ServerError)
    if "hansard.server.shell" in sys.modules:
        from hansard.server.shell import Ended  # noqa: PLC0415

        found.append(Ended)
    return tuple(found)


class Commands(TyperGroup):
    """The outermost group: the errors of every command pass here, and its help lists them by what they are for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """In the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = formatter.width - 6 - max(map(len, self.commands))
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            if not command.hidden:
                panel = getattr(command, "rich_help_panel", None)
                panels.setdefault(panel if isinstance(panel, str) else "Commands", []).append(
                    (name, command.get_short_help_str(width))
                )
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows, col_max=30)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read our output has enough. Nothing more may be written, not even by the interpreter at its end.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except KeyboardInterrupt:
            raise fail("interrupted", INTERRUPTED) from None
        except known_errors() as error:
            raise fail(str(error)) from error
        return result
