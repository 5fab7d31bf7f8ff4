"""The HTTP API (hansard.http) as part of this process: what it has of the participant is handed to it here."""

import socket
import time

from hansard.http.access import nobody_asked
from hansard.http.app import App
from hansard.http.house import House
from hansard.http.rates import Rates
from hansard.http.service import Service
from hansard.participant.participant import Participant

from .admin import Admin
from .connection import tune
from .port import files_max
from .reception import Reception
from .shell import Shell
from .tls import Certificates


class Web:
    """`doors` are where it listens; without any there is no API, and nothing of it is made."""

    def __init__(
        self,
        doors: list[socket.socket],
        core: Participant,
        shell: Shell,
        reception: Reception,
        admin: Admin,
        certificates: Certificates | None,
    ) -> None:
        self._doors = doors
        self._service: Service | None = None
        if doors:
            house = House(
                core=core,
                submit=reception.inside.submit,
                connect=reception.inside.connect,
                question=admin.ask,
                is_holding=lambda: reception.is_holding,
                marked_down=lambda: admin.marked_down,
                lag_s=lambda: shell.lag.last_s,
                synced=lambda: shell.vault.synced if shell.vault is not None else (0, 0.0),
            )
            app = App(house, nobody_asked, Rates(time.monotonic))
            secure = certificates
            self._service = Service(app, lambda: secure.answering if secure is not None else None, tune, files_max())

    def open(self) -> None:
        if self._service is not None:
            self._service.open(self._doors)

    def shut(self) -> None:
        """Nobody comes in any more."""
        if self._service is not None:
            self._service.shut()

    async def close(self) -> None:
        if self._service is not None:
            await self._service.close()
