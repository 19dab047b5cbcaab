"""The store: one SQLite file in WAL mode with every run, row and description.

A row is on the disk when `append` returns, so a killed lab loses at most the cell in flight.
Several labs may use one store at once: each write is one short transaction that waits for others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from threadmark.machine.owner import Fate, Owner, claim, fate, this
from threadmark.model.cell import Row, Run, Stored
from threadmark.model.effort import IMPORTED
from threadmark.model.errors import LabError
from threadmark.store import schema
from threadmark.store.codec import (
    COLUMNS,
    INSERT_ROW,
    dump,
    row_from,
    row_values,
    run_from,
    text_of,
)
from threadmark.store.database import connect, explained, use_wal
from threadmark.store.presence import Presence


class Store:
    """Open with `Store.open`, use as a context manager. Problems with the file are LabErrors."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._owned: set[int] = set()  # unfinished runs of this process
        self._presence = Presence(path)

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Store:
        """Open the store at `path`; with `create` make an absent file and its folder."""
        if not create and not path.exists():
            raise LabError(
                f"There is no store at {path}; measure first (./threadmark run) or name one with "
                "--store."
            )
        with explained(path):
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            store = cls(path, connect(path, create=create))
        with ExitStack() as on_failure, explained(path):
            on_failure.callback(store._db.close)
            store._prepare(create=create)
            on_failure.pop_all()
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        own, ended = (dump(asdict(each)) for each in (this(), replace(this(), pid=0, started="")))
        # After a rollback of a start, another lab's run may have got its number.
        change = "UPDATE run SET owner = ? WHERE id = ? AND owner = ?"
        with suppress(LabError):  # on a full disk the next lab has to look for the process
            for run_id in self._owned:
                with self._writing() as db:
                    db.execute(change, (ended, run_id, own))
        self._db.close()
        self._presence.close()

    def start_run(
        self, profile: str, seed: int, request: dict[str, Any], machine: dict[str, Any]
    ) -> int:
        """Open a run that belongs to this process; returns its number."""
        values = (_now(), profile, seed, dump(request), dump(machine), dump(asdict(this())))
        with self._writing() as db:
            cursor = db.execute(
                "INSERT INTO run (started_at, profile, seed, request, machine, owner)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                values,
            )
            run_id = int(cursor.lastrowid or 0)
            self._own(run_id)
        return run_id

    def check_ended(self, run_id: int) -> None:
        """LabError unless the owner of an unfinished run has ended."""
        (found,) = self._read("SELECT owner FROM run WHERE id = ?", run_id)
        if why := claim(_owner(found), self._presence.alone):
            raise LabError(f"Run {run_id} {why} or start another run without --resume.")

    def take_over(self, run_id: int) -> None:
        """Make this process the owner of an unfinished run. LabError unless its owner has ended."""
        with self._writing() as db:
            self.check_ended(run_id)
            self._own(run_id)
            db.execute("UPDATE run SET owner = ? WHERE id = ?", (dump(asdict(this())), run_id))

    def _own(self, run_id: int) -> None:
        self._presence.show()
        self._owned.add(run_id)

    def append(self, run_id: int, row: Row) -> None:
        """Add one row; it is durable on return."""
        self.append_all(run_id, [row])

    def append_all(self, run_id: int, rows: Iterable[Row]) -> None:
        """Add rows in one transaction: all of them or, after an error, none."""
        with self._writing() as db:
            db.executemany(INSERT_ROW, [(run_id, *row_values(row)) for row in rows])

    def add_note(self, run_id: int, sentence: str) -> None:
        """Add one sentence about the run as a whole."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO note (run_id, sentence) VALUES (?, ?)", (run_id, text_of(sentence))
            )

    def add_description(self, run_id: int, platform: str, description: dict[str, Any]) -> None:
        """Keep the description of an executable; a later one replaces it."""
        key = (
            run_id,
            platform,
            str(description.get("program", "")),
            str(description.get("backend", "")),
        )
        with self._writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO description VALUES (?, ?, ?, ?, ?)",
                (*key, dump(description)),
            )

    def descriptions(self, run_id: int) -> list[dict[str, Any]]:
        """The descriptions of the executables of a run, each with `platform_name` added."""
        query = (
            "SELECT platform, json FROM description WHERE run_id = ?"
            " ORDER BY platform, program, backend"
        )
        return [
            {**json.loads(each["json"]), "platform_name": each["platform"]}
            for each in self._read(query, run_id)
        ]

    def add_document(self, run_id: int, name: str, document: Mapping[str, Any]) -> None:
        """Keep a document of a run without cells; a later one replaces it."""
        with self._writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO document VALUES (?, ?, ?)", (run_id, name, dump(document))
            )

    def documents(self, run_id: int) -> dict[str, Any]:
        """The documents of a run by their names."""
        with explained(self.path):
            if schema.version(self._db, self.path) < schema.DOCUMENTS:
                return {}
        query = "SELECT name, json FROM document WHERE run_id = ?"
        return {each["name"]: json.loads(each["json"]) for each in self._read(query, run_id)}

    def finish(self, run_id: int) -> None:
        """Mark the run as complete."""
        with self._writing() as db:
            db.execute("UPDATE run SET finished_at = ? WHERE id = ?", (_now(), run_id))
        self._owned.discard(run_id)

    def unfinished(self, profiles: Sequence[str]) -> int | None:
        """The newest unfinished measurement with one of `profiles` whose lab has ended, else the
        newest one, if any."""
        measured = [each for each in profiles if each != IMPORTED]
        places = ", ".join("?" * len(measured))
        query = f"SELECT id, owner FROM run WHERE finished_at = '' AND profile IN ({places})"
        runs = self._read(f"{query} ORDER BY id", *measured)
        alone = self._presence.alone
        found = {each["id"]: fate(_owner(each), alone) is Fate.ENDED for each in runs}
        return max(found, key=lambda run_id: (found[run_id], run_id), default=None)

    def measuring(self) -> list[int]:
        """The other processes that visibly measure into this store now."""
        found = map(_owner, self._read("SELECT owner FROM run WHERE finished_at = ''"))
        return [owner.pid for owner in found if fate(owner, lambda: False) is Fate.LIVES]

    def runs(self) -> list[Run]:
        """All runs, oldest first."""
        notes: dict[int, list[str]] = {}
        for each in self._read("SELECT run_id, sentence FROM note ORDER BY id"):
            notes.setdefault(each["run_id"], []).append(each["sentence"])
        return [
            run_from(each, notes.get(each["id"], []))
            for each in self._read("SELECT * FROM run ORDER BY id")
        ]

    def run(self, run_id: int | str) -> Run:
        """The run of that number, `latest_run_id` for 'last'. LabError if there is none."""
        if run_id == "last":
            run_id = self.latest_run_id()
        text = str(run_id)
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1
        for each in self._read("SELECT * FROM run WHERE id = ?", number):
            notes = self._read("SELECT sentence FROM note WHERE run_id = ? ORDER BY id", number)
            return run_from(each, [note["sentence"] for note in notes])
        known = ", ".join(str(run.id) for run in self.runs()[-8:])
        raise LabError(
            f"There is no run '{run_id}' in {self.path}; take 'last' or one of: "
            f"{known or '(none yet)'}."
        )

    def load(self, run_id: int | str) -> Stored:
        """All data of a run. LabError if there is no run of this number."""
        run = self.run(run_id)
        rows, documents = self.rows(run.id), self.documents(run.id)
        return Stored(run, rows, self.descriptions(run.id), documents, self.path)

    def latest_run_id(self) -> int:
        """The newest measured run (not its explanations), else the newest import. LabError for an
        empty store."""
        query = (
            "SELECT id FROM run ORDER BY json_extract(request, '$.of') IS NOT NULL, profile = ?, "
            "id DESC LIMIT 1"
        )
        for each in self._read(query, IMPORTED):
            return int(each["id"])
        raise LabError(f"The store {self.path} holds no run yet; measure first: ./threadmark run")

    def rows(self, run_id: int, **filters: str | int) -> list[Row]:
        """Rows in the order of measuring; `filters` are fields of the cell, `status`, `round`."""
        unknown = set(filters) - set(COLUMNS)
        if unknown:
            raise ValueError(f"no such column: {sorted(unknown)}")
        where = "".join(f" AND {name} = ?" for name in filters)
        query = f"SELECT * FROM row WHERE run_id = ?{where} ORDER BY id"
        return [row_from(each) for each in self._read(query, run_id, *filters.values())]

    def _read(self, query: str, *values: str | int) -> list[sqlite3.Row]:
        with explained(self.path):
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Writes inside are kept as a whole or, after an error or a kill, not at all."""
        with self._writing():
            yield

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with explained(self.path):
            if self._db.in_transaction:  # within `at_once`, which commits
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _prepare(self, *, create: bool) -> None:
        self._db.execute("BEGIN")  # another lab may be creating it: we see all or nothing
        with ExitStack() as read:
            read.callback(self._db.execute, "ROLLBACK")
            version = schema.version(self._db, self.path)
        if version < schema.VERSION and create:
            if version == 0:
                use_wal(self._db)
            with self._writing() as db:
                # Another lab may have been faster.
                for statement in schema.statements(schema.version(self._db, self.path)):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {schema.VERSION}")
        elif version == 0:
            raise LabError(
                f"{self.path} holds no run yet; measure first (./threadmark run) or name another "
                "file with --store."
            )


def _owner(stored: sqlite3.Row) -> Owner:
    """The owner of a run, which may be a lab of a version without namespaces."""
    return Owner(**{"namespace": "", **json.loads(stored["owner"])})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
