"""The tables of a store, and the identification of its file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from threadmark.model.errors import LabError

VERSION = 2
APPLICATION_ID = 0x546D726B  # "Tmrk": tells our file from any other SQLite file
_SQL = """
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL DEFAULT '',
  profile TEXT NOT NULL, seed INTEGER NOT NULL, request TEXT NOT NULL, machine TEXT NOT NULL,
  owner TEXT NOT NULL);
CREATE TABLE note (
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES run, sentence TEXT NOT NULL);
CREATE TABLE description (
  run_id INTEGER NOT NULL REFERENCES run, platform TEXT NOT NULL, program TEXT NOT NULL,
  backend TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (run_id, platform, program, backend));
CREATE TABLE row (
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES run,
  program TEXT NOT NULL, size TEXT NOT NULL, backend TEXT NOT NULL, variant TEXT NOT NULL,
  platform TEXT NOT NULL, allocator TEXT NOT NULL, threads INTEGER NOT NULL,
  arguments TEXT NOT NULL,
  round INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, sample_ns REAL,
  repeats TEXT NOT NULL, command TEXT NOT NULL, started_at TEXT NOT NULL, disturbed TEXT NOT NULL,
  facts TEXT NOT NULL);
CREATE INDEX row_of_run ON row (run_id, program, backend);
"""
# The additions of each version. A store of an old version is read as it is, and brought up to date
# at the first write.
_ADDED = {
    2: """
CREATE TABLE document (
  run_id INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, json TEXT NOT NULL,
  PRIMARY KEY (run_id, name));
"""
}
DOCUMENTS = 2  # the first version with documents


def statements(version: int) -> list[str]:
    """The statements that make the tables of this version out of those of `version`, which is 0 for
    none."""
    parts = [_SQL] if version == 0 else []
    parts += [sql for added, sql in _ADDED.items() if added > version]
    return [each for part in parts for each in part.split(";\n") if each.strip()]


def version(db: sqlite3.Connection, path: Path) -> int:
    """The version of the tables, 0 for a file without any. LabError for a file of another program
    or of a newer Threadmark."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    application = int(db.execute("PRAGMA application_id").fetchone()[0])
    tables = int(db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if application != APPLICATION_ID and (tables or version):
        raise LabError(
            f"{path} is the database of another program; name another file with --store."
        )
    if version > VERSION:
        raise LabError(
            f"{path} was written by a newer Threadmark (schema {version}, this one knows "
            f"{VERSION}); "
            "update this checkout (git pull) or name another file with --store."
        )
    return version
