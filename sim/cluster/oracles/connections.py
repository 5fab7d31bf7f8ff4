"""A connection number is given to one client only; the same name gets the same number."""

from .oracle import Oracle


class OwnNumbers(Oracle):
    promise = "a connection number is given once"

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.numbers: dict[str, int] = {}

    def connected(self, name: str, connection: int) -> None:
        if connection in self.names and not (name and self.names[connection] == name):
            raise self.broken(f"{connection} is given to {name or 'a client'}, and was to {self.names[connection]!r}")
        self.names[connection] = name
        if name and self.numbers.setdefault(name, connection) != connection:
            raise self.broken(f"{name} gets {connection}, and had {self.numbers[name]}")
