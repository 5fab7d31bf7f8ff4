"""Making a store's directory, and putting in order what a crash left of one, before anything in it is relied on."""

from collections.abc import Iterable

from . import ballast
from . import identity as identities
from . import manifest as manifests
from .disk import Disk
from .documents import ENDING
from .errors import Corrupt, NoStore
from .identity import Identity
from .journal import FOLDER, Journal
from .manifest import Manifest, index_path, segment_path
from .recovery import has_journal_content
from .settings import StoreSettings


def create(disk: Disk, identity: Identity) -> Identity:
    ours = {FOLDER, "buckets", f"{identities.PATH}.new"}
    others = [name for name in disk.list("") if name not in ours]
    if others or has_journal_content(disk):
        raise NoStore(f"the directory holds no log, and is not empty ({', '.join(others) or FOLDER})")
    identities.write(disk, identity)
    return identity


def sync_names(disk: Disk) -> None:
    """Names that a killed process left unsynced must last before anything is built on them."""
    for folder in ("", FOLDER, *(f"buckets/{name}" for name in disk.list("buckets"))):
        if disk.exists(folder):
            disk.sync_folder(folder)


def first_manifest(disk: Disk, settings: StoreSettings, *, read_only: bool) -> Manifest:
    """For a directory that is new, or whose making was interrupted. One with content has lost its manifest."""
    if read_only or has_journal_content(disk) or disk.list("buckets"):
        raise Corrupt(manifests.PATH, 0, None, "it is missing, and so is the knowledge of what the segments hold")
    for folder in (FOLDER, "buckets"):
        disk.make_folder(folder)
    for name in disk.list(FOLDER):
        disk.remove(f"{FOLDER}/{name}")
    journal = Journal(disk, settings.journal_file_bytes)
    journal.begin_file()
    journal.close()
    ballast.take(disk)
    manifest = Manifest(journal=1, next_segment=1)
    manifests.save(disk, manifest)
    return manifest


def remove_leftovers(disk: Disk, segments: Iterable[tuple[int, int]]) -> None:
    """Files that a crash left and no bucket lists: unfinished filings, dropped segments, drafts of documents, links for
    forks that were not made."""
    listed = {path for segment in segments for path in (segment_path(*segment), index_path(*segment))}
    for folder in disk.list("buckets"):
        for name in disk.list(f"buckets/{folder}"):
            if f"buckets/{folder}/{name}" not in listed and not name.endswith(ENDING):
                disk.remove(f"buckets/{folder}/{name}")
