"""What can be wrong with a batch.

BatchError (a ValueError)
├── LimitExceeded       the builder's caller asked for too much: field, limit, actual
├── BadInput            the builder's caller passed something that is no key, value or tag
└── Malformed           bytes from outside that are no batch
    ├── TooShort        fewer bytes than the header, or than the header promises
    ├── TooLong         more bytes than the header promises
    ├── WrongMagic      not a batch at all
    ├── UnknownVersion  a batch of a format that this code cannot read
    ├── UnknownFlags    the same, by a flag
    ├── BadChecksum     damaged: `part` is "header" or "body"
    ├── BadHeader       a header field that contradicts another
    ├── BadVector       a column that does not fit, is out of order or out of range
    ├── BadTag          a tag that is not UTF-8, is empty, stands twice in the dictionary, or there for nobody
    ├── BadCompression  a body that is no zstd frame, or not of the size it promises
    ├── OverLimit       larger than the format allows
    └── WrongKeyHash    a stored hash that is not its key's: the change would live in the wrong bucket
"""


class BatchError(ValueError):
    """A batch that cannot be made, or cannot be read."""


class LimitExceeded(BatchError):
    def __init__(self, field: str, limit: int, actual: int) -> None:
        super().__init__(f"{field} is {actual:,}, and the limit is {limit:,}")
        self.field, self.limit, self.actual = field, limit, actual


class BadInput(BatchError):
    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class Malformed(BatchError):
    """Bytes from outside that are no batch."""


class TooShort(Malformed):
    def __init__(self, needed: int, actual: int) -> None:
        super().__init__(f"{actual:,} bytes where the batch needs {needed:,}")
        self.needed, self.actual = needed, actual


class TooLong(Malformed):
    def __init__(self, needed: int, actual: int) -> None:
        super().__init__(f"{actual:,} bytes where the batch has {needed:,}: something follows it")
        self.needed, self.actual = needed, actual


class WrongMagic(Malformed):
    def __init__(self, found: bytes) -> None:
        super().__init__(f"does not begin as a batch does (found {found!r})")


class UnknownVersion(Malformed):
    def __init__(self, version: int) -> None:
        super().__init__(f"batch format {version} is not known here; a newer release may read it")
        self.version = version


class UnknownFlags(Malformed):
    def __init__(self, flags: int) -> None:
        super().__init__(f"batch flags {flags:#06x} are not known here; a newer release may read it")
        self.flags = flags


class BadChecksum(Malformed):
    def __init__(self, part: str) -> None:
        super().__init__(f"the {part}'s checksum does not match: the bytes are damaged")
        self.part = part


class BadHeader(Malformed):
    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"header field {field}: {problem}")
        self.field = field


class BadVector(Malformed):
    def __init__(self, column: str, problem: str) -> None:
        super().__init__(f"column {column}: {problem}")
        self.column = column


class BadTag(Malformed):
    pass


class BadCompression(Malformed):
    pass


class OverLimit(Malformed):
    def __init__(self, field: str, limit: int, actual: int) -> None:
        super().__init__(f"{field} is {actual:,}, and the limit is {limit:,}")
        self.field, self.limit, self.actual = field, limit, actual


class WrongKeyHash(Malformed):
    def __init__(self, index: int) -> None:
        super().__init__(f"change {index} of the batch carries a hash that is not its key's")
        self.index = index
