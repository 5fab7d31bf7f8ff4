"""The checkpoints that the log tells of, looked at: their files by themselves, and what they say beside the log.

The newest of each subject must be there. Older ones may have been removed; those whose layers are all there are looked
at, too. What a checkpoint should say is made anew from the changes before its bookmark: of an archive and the log, or
of the log alone. Where that does not retain everything, nothing is said of keys that it has no change of.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from hansard.bookmark import Bookmark
from hansard.checkpoint import Docket, End, Layer, Subject

from . import layers, place
from .building import BUILDS, MASK
from .checks import COUNT_MAX
from .columns import BUCKET, KEY, OFFSET, VALUE
from .findings import DAMAGED, DIFFERENT, MISSING, SURPLUS, Finding, reason
from .folder import Folder
from .layers import FOLDER

_LAYER: Final = rf"({BUILDS}/[^/]+/{FOLDER}=[^/]+)/[^/]+$"
_GONE: Final = "the log says that it is deleted"


class Known(NamedTuple):
    subject: Subject
    end: End
    is_newest: bool

    def __str__(self) -> str:
        return f"checkpoint {self.end.number} of {self.subject}"

    @property
    def bookmark(self) -> Bookmark:
        return Bookmark.parse(self.end.bookmark)


def known(dockets: Mapping[str, Docket]) -> list[Known]:
    """All that count, the newest of each subject first."""
    found = []
    for name, docket in sorted(dockets.items()):
        subject = Subject.parse(name)
        if subject is not None:
            ends = [filed.record for filed in reversed(docket.ends)]
            found += [Known(subject, end, is_newest=place == 0) for place, end in enumerate(ends)]
    return found


class Row(NamedTuple):
    """What is in the files of a layer."""

    rows: int
    deleted: int
    digest: str


@dataclass(frozen=True, slots=True)
class Inspector:
    spark: SparkSession
    changes: Callable[[Bookmark], DataFrame | None]
    """All that there are before a bookmark; None where nobody has all of them."""
    retained: Bookmark | None = None
    """From where on, if not from the beginning."""
    reached: Callable[[str], None] = lambda _: None

    def inspect(self, checkpoints: Sequence[Known]) -> tuple[int, list[Finding]]:
        """How many there were to look at, and what is wrong with them."""
        found: list[Finding] = []
        whole: list[Known] = []
        looked = 0
        for location in sorted({each.end.location for each in checkpoints}):
            self.reached("files of checkpoints")
            there, wrong, count = self._files(location, [each for each in checkpoints if each.end.location == location])
            found, whole, looked = found + wrong, whole + there, looked + count
        for some in _at_once(whole):
            self.reached(f"checkpoints at one of {len(whole)} bookmarks")
            found += self._content(some)
        return looked, found

    # Files.

    def _files(self, location: str, some: Sequence[Known]) -> tuple[list[Known], list[Finding], int]:
        """Those whose layers can all be read; and of these, how many there should be."""
        folder = Folder(self.spark, location)
        there = {file.path.rpartition("/")[0] for file in folder.files(BUILDS)}
        present = [each for each in some if each.is_newest or all(layer.path in there for layer in each.end.layers)]
        wanted = {layer.path: layer for each in present for layer in each.end.layers}
        found, unreadable = self._read(folder, sorted(path for path in wanted if path in there))
        wrong = [Finding(DAMAGED, path, None, None, None, why) for path, why in sorted(unreadable.items())]
        for path, layer in sorted(wanted.items()):
            if path not in there:
                wrong.append(Finding(MISSING, path, None, None, None, f"the layer is not there{_whose(present, path)}"))
            elif path not in unreadable and _is_other(found.get(path), layer):
                rows = found[path].rows if path in found else 0
                what = f"its rows are not those that were written: {rows:,} rows, and {layer.rows:,} were written"
                wrong.append(Finding(DIFFERENT, path, None, None, None, f"{what}{_whose(present, path)}"))
        bad = {path for path in wanted if path not in there} | set(unreadable)
        return [each for each in present if not bad & {layer.path for layer in each.end.layers}], wrong, len(present)

    def _read(self, folder: Folder, paths: Sequence[str]) -> tuple[dict[str, Row], dict[str, str]]:
        """All at once; where one cannot be read, each half by itself."""
        if not paths:
            return {}, {}
        frame = self.spark.read.schema(layers.FILE).parquet(*[folder.path(path) for path in paths])
        path = fn.regexp_extract(fn.col("_metadata.file_path"), _LAYER, 1)
        try:
            rows = layers.described(frame.withColumn(FOLDER, path)).collect()
        except (PySparkException, Py4JJavaError) as error:
            if len(paths) == 1:
                return {}, {paths[0]: reason(error)}
            half = len(paths) // 2
            (one, bad), (other, worse) = self._read(folder, paths[:half]), self._read(folder, paths[half:])
            return one | other, bad | worse
        return {row[FOLDER]: Row(row["rows"], row["deleted"], f"{row['xored'] & MASK:016x}") for row in rows}, {}

    # What they say.

    def _content(self, some: Sequence[Known]) -> list[Finding]:
        """Of checkpoints of several subjects at one bookmark."""
        bookmark = some[0].bookmark
        changes = self.changes(bookmark)
        if changes is None:
            return []
        says = layers.latest(reduce(DataFrame.unionByName, _rows(changes, [each.subject for each in some])))
        found: dict[str, list[Layer]] = {}
        for each in some:
            found.setdefault(each.end.location, []).extend(each.end.layers)
        states = [layers.state(self.spark, location, of_all) for location, of_all in found.items()]
        wrong = compared(reduce(DataFrame.unionByName, states), says, self.retained).limit(COUNT_MAX)
        names = {layers.folder_of(each.subject.name): str(each) for each in some}
        return [
            Finding(row["kind"], names[row[FOLDER]], row[BUCKET], row[OFFSET], None, row["remark"])
            for row in wrong.collect()
        ]


def compared(state: DataFrame, says: DataFrame, retained: Bookmark | None = None) -> DataFrame:
    """Where a checkpoint's state is not what the latest changes say, deletions among them."""
    names = [VALUE, BUCKET, OFFSET]
    ours = state.select(FOLDER, KEY, *names, layers.print_of().alias("print"))
    theirs = says.select(
        FOLDER, KEY, *[fn.col(name).alias(f"log_{name}") for name in names], layers.print_of().alias("log_print")
    )
    both = ours.join(theirs, [FOLDER, KEY], "full_outer")
    begins = fn.lit(0) if retained is None else place.place(retained)
    is_here, is_there = fn.col("print").isNotNull(), fn.col("log_print").isNotNull()
    kind = (
        fn.when(is_here & ~is_there & (fn.col(OFFSET) >= begins), SURPLUS)
        .when(is_here & is_there & fn.col("log_value").isNull(), SURPLUS)
        .when(is_here & is_there & (fn.col("print") != fn.col("log_print")), DIFFERENT)
        .when(~is_here & fn.col("log_value").isNotNull(), MISSING)
    )
    what = (
        fn.when(is_here & ~is_there, "the log has no change of it")
        .when(is_here & fn.col("log_value").isNull(), _GONE)
        .when(is_here, "the log has another latest change of it")
        .otherwise("the log has it, and the checkpoint has not")
    )
    key = fn.make_valid_utf8(fn.col(KEY).cast("string"))
    return (
        both.withColumn("kind", kind)
        .where(fn.col("kind").isNotNull())
        .select(
            "kind",
            FOLDER,
            fn.coalesce(BUCKET, "log_bucket").alias(BUCKET),
            fn.coalesce(OFFSET, "log_offset").alias(OFFSET),
            fn.concat(fn.lit("key "), key, fn.lit(": "), what).alias("remark"),
        )
        .orderBy(FOLDER, "remark")
    )


def _rows(changes: DataFrame, subjects: Iterable[Subject]) -> list[DataFrame]:
    """Subjects of one tag are looked for all at once."""
    single, several = list[str](), list[Subject]()
    for subject in subjects:
        if len(subject.tags) == 1:
            single.append(subject.tags[0])
        else:
            several.append(subject)
    found = [layers.of_tags(changes, sorted(single))] if single else []
    return [*found, *[layers.of_subject(changes, subject) for subject in several]]


def _at_once(some: Sequence[Known]) -> list[list[Known]]:
    """Those at one bookmark together, but of each subject one."""
    found: dict[tuple[str, int], list[Known]] = {}
    for each in some:
        turn = 0
        while any(other.subject == each.subject for other in found.get((each.end.bookmark, turn), ())):
            turn += 1
        found.setdefault((each.end.bookmark, turn), []).append(each)
    return list(found.values())


def _is_other(now: Row | None, layer: Layer) -> bool:
    return now != Row(layer.rows, layer.deleted, layer.digest)


def _whose(some: Sequence[Known], path: str) -> str:
    owners = [str(each) for each in some if any(layer.path == path for layer in each.end.layers)]
    return f"; it is of {owners[0]}" + (f" and {len(owners) - 1} more" if len(owners) > 1 else "")
