"""What can be wrong with a place that a reader names.

LogError
├── WrongLog         the bookmark is of another log
├── TableBehind      the bookmark knows of a split that is not known here yet: try again
└── BadPlace         (a ValueError) no bookmark, offset or time can be made of it
"""


class LogError(Exception):
    """Any failure of a log that is not storage's or a batch's."""


class WrongLog(LogError):
    def __init__(self, bookmarked: str, actual: str) -> None:
        super().__init__(bookmarked, actual)
        self.bookmarked, self.actual = bookmarked, actual

    def __str__(self) -> str:
        return (
            f"the bookmark is of the log {self.bookmarked}, and this is {self.actual}; "
            "use it with the log that it was made from, or start from a time"
        )


class TableBehind(LogError):
    def __init__(self, bucket: int) -> None:
        super().__init__(bucket)
        self.bucket = bucket

    def __str__(self) -> str:
        return (
            f"the bookmark has a place in bucket {self.bucket}, which is not known here yet: "
            "this node has not heard of the split; try again in a moment, or ask another node"
        )


class BadPlace(LogError, ValueError):
    def __init__(self, problem: str) -> None:
        super().__init__(problem)

    def __str__(self) -> str:
        return str(self.args[0])
