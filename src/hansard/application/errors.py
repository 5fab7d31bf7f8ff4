"""What can be wrong with an application, or with what it is to go on from.

ApplicationError
├── BadName       no state can be stored under its name
├── BadQuestion   raised by an application: it has no answer to this
├── NewerImage    the state that is there was made by a newer version of the application
└── HistoryGone   it was attached late, and the log does not go back to its beginning any more
"""


class ApplicationError(Exception):
    """Any of these."""


class BadName(ApplicationError, ValueError):
    def __init__(self, name: object) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return (
            f"{self.args[0]!r} is no name for an application: small letters, digits and hyphens are, "
            "28 of them at the most"
        )


class BadQuestion(ApplicationError, ValueError):
    """Its text is for whoever asked."""


class NewerImage(ApplicationError):
    def __init__(self, name: str, stored: int, version: int) -> None:
        super().__init__(name, stored, version)
        self.name, self.stored, self.version = name, stored, version

    def __str__(self) -> str:
        return (
            f"the state of the application {self.name!r} was stored by its version {self.stored}, and this is "
            f"{self.version}: run version {self.stored} or a later one"
        )


class HistoryGone(ApplicationError):
    def __init__(self, name: str, bucket: int, start: int) -> None:
        super().__init__(name, bucket, start)
        self.name, self.bucket, self.start = name, bucket, start

    def __str__(self) -> str:
        return (
            f"the application {self.name!r} has no state in bucket {self.bucket} and would have to see all of its log, "
            f"but that is retained from offset {self.start} on only: attach an application before anything is dropped"
        )
