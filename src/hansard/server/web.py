"""The HTTP API (hansard.http) as part of this process: what it has of the participant is handed to it here."""

import socket

from hansard.http.app import App
from hansard.http.house import House
from hansard.http.service import Service
from hansard.http.source import Means, Source
from hansard.participant.participant import Participant

from .access import Access
from .admin import Admin
from .connection import tune
from .guests import Guests
from .port import files_max
from .reception import Reception
from .shell import Shell
from .tls import Certificates


class Web:
    """`doors` are where it listens; without any there is no API, and nothing of it is made. `address` is where this
    participant's own binary protocol is spoken: pages are read by a client of it."""

    def __init__(
        self,
        doors: list[socket.socket],
        address: str,
        core: Participant,
        shell: Shell,
        reception: Reception,
        admin: Admin,
        access: Access,
        certificates: Certificates | None,
    ) -> None:
        self._doors = doors
        self._address = address
        self._access = access
        self._certificates = certificates
        self._service: Service | None = None
        if doors:
            house = House(
                core=core,
                submit=reception.inside.submit,
                connect=reception.inside.connect,
                ended=reception.inside.end,
                question=admin.ask,
                is_holding=lambda: reception.is_holding,
                marked_down=lambda: admin.marked_down,
                lag_s=lambda: shell.lag.last_s,
                synced=lambda: shell.vault.synced if shell.vault is not None else (0, 0.0),
            )
            app = App(house, Guests(access).who, Source(self._means))
            secure = certificates
            self._service = Service(app, lambda: secure.answering if secure is not None else None, tune, files_max())

    def _means(self) -> Means:
        secure = self._certificates.dialling if self._certificates is not None else None
        return Means(self._address, self._access.inner_token, secure)

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
