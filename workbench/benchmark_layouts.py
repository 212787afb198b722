"""Which files of a folder make a benchmark: the official layouts, unpacked and left as they are.

In: the path a user names (a folder, or a question file in one). Out: a `Source`: the question files of one split, where
the schemas and databases lie, and the layout's name. Nothing is read here but the first bytes of candidate files.

| layout | questions | schemas | databases |
| --- | --- | --- | --- |
| Spider | dev.json, train_spider.json + train_others.json, test.json | {test_,}tables.json | {test_,}database/ |
| BIRD | dev.json, train.json | {dev,train}_tables.json | {dev,train}_databases/ |
| mini-dev | mini_dev_{sqlite,mysql,postgresql}.json | dev_tables.json | dev_databases/ |
| KaggleDBQA | examples/*_{test,fewshot}.json | KaggleDBQA_tables.json | databases/ |
| plain folder | questions, dev, ...: .json .jsonl .csv .tsv .parquet | any of these | any of these, or beside |
"""

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from workbench import paths
from workbench.errors import BenchmarkError
from workbench.records import RECORD_SUFFIXES

DATABASE_SUFFIXES = (".sqlite", ".db", ".sqlite3")
SPLIT_ORDER = ("dev", "mini_dev", "test", "questions", "benchmark", "train")  # which one is meant where none is named
QUESTION_KEYS = ("question", "nl_question", "utterance", "query")
DB_KEYS = ("db_id", "database_id", "db_name", "database", "db")
_MINI_DEV = re.compile(r"mini_dev_(sqlite|mysql|postgresql|pg)(?:-\d+-of-\d+)?\.jsonl?", re.IGNORECASE)
_DATABASE_FOLDERS = ("database", "databases", "dev_databases", "train_databases", "test_databases", "test_database")
_HINT = (
    "a folder with dev.json and its databases, as Spider, BIRD or KaggleDBQA are unpacked, "
    "or a question file with db_id and question"
)


SYNTHESIZED = "synthesized.json"  # beside databases that are made up


@dataclass(frozen=True)
class Root:
    """A folder in which databases are looked for; nothing outside `wall` is ever opened from it."""

    folder: Path
    wall: Path


@dataclass(frozen=True)
class Source:
    """files: the questions, one file after the other. engine_files: mini-dev's gold of each engine."""

    layout: str  # bird-minidev | kaggledbqa | "" (told by the records)
    split: str
    base: Path
    files: tuple[Path, ...]
    tables: Path | None
    roots: tuple[Root, ...]
    engine_files: dict[str, Path]
    is_only_split: bool


def find_source(path: Path, split: str | None = None, databases: Path | None = None) -> Source:
    """The files of a benchmark's split; without `split` the dev questions, else the first of SPLIT_ORDER.

    databases: a folder looked in before the benchmark's own. Raises BenchmarkError with what was looked for and the
    nearest thing found.
    """
    if not path.exists():
        raise BenchmarkError("there is no such file or folder", where=path, hint=_nearest(path))
    if databases is not None and not databases.is_dir():
        raise BenchmarkError(
            "is no folder of databases", where=databases, hint="a folder with <db_id>/<db_id>.sqlite is wanted"
        )
    if path.is_file():
        if path.suffix.lower() not in RECORD_SUFFIXES:
            hint = (
                "unpack it"
                if path.suffix.lower() in (".zip", ".gz", ".tar", ".7z")
                else f"wanted: {' '.join(RECORD_SUFFIXES)}"
            )
            raise BenchmarkError("not a question file", where=path, hint=hint)
        base = path.parent.parent if path.parent.name == "examples" else path.parent
        wanted = path.stem
        splits = question_splits(base)
        if _MINI_DEV.fullmatch(path.name):
            files = splits["mini_dev"]
        else:
            files = splits.get(wanted) if path in splits.get(wanted, ()) else (path,)
        is_only = list(splits.values()) == [files]
        wanted = "mini_dev" if _MINI_DEV.fullmatch(path.name) else wanted
    else:
        base, splits = _folder_with_questions(path)
        wanted, is_only = _choose(base, splits, split), len(splits) == 1
        files = splits[wanted]
    engines = {_engine(file): file for file in files} if wanted == "mini_dev" else {}
    layout = "bird-minidev" if engines else "kaggledbqa" if files[0].parent.name == "examples" else ""
    files = (next(iter(engines.values())),) if engines else files
    for file in files:
        if file != path and not is_inside(file, base):
            raise BenchmarkError(
                "a link that leads out of the benchmark's folder", where=file, hint="copy the file itself"
            )
    return Source(
        layout, wanted, base, files, _tables_file(base, wanted), _roots(base, wanted, databases), engines, is_only
    )


def question_splits(folder: Path) -> dict[str, tuple[Path, ...]]:
    """The question files in a folder by split: a file's stem, or a split that consists of several files."""
    files = [file for file in _visible(folder) if file.suffix.lower() in RECORD_SUFFIXES and file.is_file()]
    mini_dev = sorted(
        (file for file in files if _MINI_DEV.fullmatch(file.name)),
        key=lambda file: (_ENGINES.index(_engine(file)), file.suffix),
    )
    if mini_dev:
        return {"mini_dev": tuple({_engine(file): file for file in reversed(mini_dev)}.values())[::-1]}
    examples = (
        [file for file in _visible(folder / "examples") if file.suffix == ".json"]
        if (folder / "examples").is_dir()
        else []
    )
    if examples:
        groups = {
            name: tuple(file for file in examples if file.stem.endswith(f"_{name}")) for name in ("test", "fewshot")
        }
        groups["all"] = tuple(file for file in examples if not file.stem.endswith(("_test", "_fewshot")))
        return {name: group for name, group in groups.items() if group}
    splits = {}
    for file in files:
        is_official = file.stem in ("dev", "train", "test") and file.suffix in (".json", ".jsonl")
        if not _may_hold_questions(file):
            continue
        if is_official or _looks_like_questions(file):
            splits.setdefault(file.stem, (file,))
    parts = [splits[stem][0] for stem in ("train_spider", "train_others") if stem in splits]  # Spider's own order
    if parts and "train" not in splits:
        splits["train"] = tuple(parts)
    return splits


def _may_hold_questions(file: Path) -> bool:
    """Whether a file's name is not that of something else: schemas, predictions, no records at all."""
    is_other = file.stem.endswith("tables") or file.stem.startswith("predict")
    return file.suffix.lower() in RECORD_SUFFIXES and not is_other


def is_inside(path: Path, wall: Path) -> bool:
    """Whether a path, with its links followed, lies in the folder `wall`."""
    try:
        return Path(os.path.realpath(path, strict=True)).is_relative_to(paths.real(wall))
    except (OSError, ValueError):
        return False


def check_db_id(db_id: str) -> str | None:
    """Why a db_id must not become part of a path, or None."""
    if not db_id.strip() or db_id in (".", ".."):
        return "is no name of a database"
    if any(char in "/\\" or ord(char) < 32 for char in db_id):
        return "holds a path separator or control character; refused"
    return "is longer than a file name can be; refused" if len(db_id.encode()) > 240 else None


def find_database(roots: tuple[Root, ...], db_id: str) -> Path:
    """The SQLite file of a db_id: <root>/<db_id>/<db_id>.sqlite, also .db and .sqlite3, also without the folder.

    A folder of that name with one database file under another name counts too. Raises BenchmarkError where there is
    none, and for a link that leads out of the benchmark.
    """
    reason = check_db_id(db_id)
    if reason:
        raise BenchmarkError(f"db_id {db_id!r:.60} {reason}")
    for root in roots:
        folder = root.folder / db_id
        found = [
            file
            for suffix in DATABASE_SUFFIXES
            for file in (folder / f"{db_id}{suffix}", root.folder / f"{db_id}{suffix}")
        ]
        found = [file for file in found if file.is_file() or file.is_symlink()]
        if not found and folder.is_dir() and is_inside(folder, root.wall):
            found = [file for file in _visible(folder) if file.suffix in DATABASE_SUFFIXES]
            found = found if len(found) == 1 else []
        for file in found:
            if not is_inside(file, root.wall):
                why = "a link that leads out of the benchmark's folder" if file.exists() else "a link to nothing"
                raise BenchmarkError(why, where=file, hint="name the databases' own folder with --databases")
            if file.is_file():
                return file
    wanted = next((root.folder / db_id / f"{db_id}.sqlite" for root in roots), Path(db_id) / f"{db_id}.sqlite")
    zips = sorted(
        {file.name for root in roots for file in _visible(root.folder) + _visible(root.wall) if file.suffix == ".zip"}
    )
    hint = f"{', '.join(zips)} is there but not unpacked" if zips else "name the databases' folder with --databases"
    raise BenchmarkError(f"no database file for {db_id!r}", where=wanted, hint=hint)


def description_files(roots: tuple[Root, ...], db_id: str) -> list[Path]:
    """BIRD's database_description/*.csv of a database, those of the first root first."""
    folders = [(root, root.folder / db_id / "database_description") for root in roots]
    return [
        file
        for root, folder in folders
        if folder.is_dir()
        for file in _visible(folder)
        if file.suffix.lower() == ".csv" and file.is_file() and is_inside(file, root.wall)
    ]


_ENGINES = ("sqlite", "postgres", "mysql")


def _engine(file: Path) -> str:
    name = _MINI_DEV.fullmatch(file.name)[1].lower()
    return "postgres" if name in ("postgresql", "pg") else name


def _visible(folder: Path) -> list[Path]:
    """A folder's entries by name, without hidden ones and what macOS adds to archives (._name, __MACOSX)."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".") and entry.name != "__MACOSX")


def _looks_like_questions(file: Path) -> bool:
    """Whether a file's first 64 KiB name a question and a database; cheap, so that a folder of large files is quick."""
    with file.open("rb") as opened:
        if file.suffix == ".parquet":  # its column names stand at the end
            opened.seek(max(0, file.stat().st_size - 65536))
        head = opened.read(65536).lower()
    return all(any(re.search(rb"\b%s\b" % key.encode(), head) for key in keys) for keys in (QUESTION_KEYS, DB_KEYS))


def _folder_with_questions(path: Path) -> tuple[Path, dict[str, tuple[Path, ...]]]:
    """The folder itself, or the only one at most two levels below it: archives unpack to minidev/MINIDEV/."""
    level = [path]
    for _ in range(3):
        found = [(folder, splits) for folder in level if (splits := question_splits(folder))]
        if len(found) > 1:
            names = ", ".join(folder.relative_to(path).as_posix() for folder, _ in found[:5])
            raise BenchmarkError("several folders in it hold questions", where=path, hint=f"name one: {names}")
        if found:
            return found[0]
        level = [entry for folder in level for entry in _visible(folder) if entry.is_dir() and not entry.is_symlink()]
    hint = _nearest_inside(path)
    files = [file for file in _visible(path) if file.is_file() and _may_hold_questions(file)]
    if hint is None and len(files) == 1:
        return path, {files[0].stem: (files[0],)}  # whoever reads it says what is wrong with it
    if hint is None and files:
        hint = f"none of {', '.join(file.name for file in files[:5])} names a question and its db_id"
    hint = (
        hint or f"looked for dev.json, train*.json, test.json, mini_dev_*.json, examples/*_test.json; wanted: {_HINT}"
    )
    raise BenchmarkError("no question file in this folder", where=path, hint=hint)


def _choose(base: Path, splits: dict[str, tuple[Path, ...]], split: str | None) -> str:
    names = ", ".join(sorted(splits))
    if split is not None:
        wanted = "mini_dev" if split == "dev" and "mini_dev" in splits else split
        if wanted not in splits:
            raise BenchmarkError(f"no split {split!r}", where=base, hint=f"available: {names}")
        return wanted
    chosen = next((name for name in SPLIT_ORDER if name in splits), None)
    if chosen is None and len(splits) > 1:
        raise BenchmarkError("several question files", where=base, hint=f"name one of: {names}")
    return chosen or next(iter(splits))


def _tables_file(base: Path, split: str) -> Path | None:
    names = [
        f"{split}_tables.json",
        "tables.json",
        "dev_tables.json",
        "KaggleDBQA_tables.json",
        "train_tables.json",
        "test_tables.json",
    ]
    return next((base / name for name in names if (base / name).is_file() and is_inside(base / name, base)), None)


def _roots(base: Path, split: str, databases: Path | None) -> tuple[Root, ...]:
    names = dict.fromkeys((f"{split}_databases", f"{split}_database", *_DATABASE_FOLDERS))
    roots = []
    for wall in (databases, base):
        if wall is not None:
            folders = [wall / name for name in names if (wall / name).is_dir() and is_inside(wall / name, wall)]
            roots += [Root(folder, wall) for folder in ([wall, *folders] if wall is databases else [*folders, wall])]
    return tuple(roots)


def _nearest(path: Path) -> str:
    parent = path.parent
    if not parent.is_dir():
        return f"{parent} is not there either"
    close = difflib.get_close_matches(path.name, [entry.name for entry in _visible(parent)], 1, 0.5)
    return f"did you mean {close[0]}?" if close else _HINT


def _nearest_inside(path: Path) -> str | None:
    """What a folder without questions holds instead."""
    zips = [file.name for file in _visible(path) if file.suffix == ".zip"]
    if zips:
        return f"{', '.join(zips[:3])} is there but not unpacked"
    above = next(
        (parent for parent in (path.parent, path.parent.parent) if parent.is_dir() and question_splits(parent)), None
    )
    if above is not None:
        return f"did you mean {above}?"
    tables = [file.name for file in _visible(path) if file.name.endswith("tables.json")]
    if tables:
        return f"{tables[0]} is there, but no dev.json, train.json, test.json or other file with question and db_id"
    return None
