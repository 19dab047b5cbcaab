#!/usr/bin/env python3
"""The join of the students' files by DuckDB, on one host: the result of `tmk-students merge`.

Usage: duckdb_join.py FOLDER RESULT [POINTS]

The files must be good: unlike merge this says nothing of bad lines. It needs the package duckdb.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

# A line is read whole, because the exercises are as many as the file says.
LINES = (
    "read_csv('{path}', columns = {{'line': 'VARCHAR'}}, delim = '\\x01', quote = '', escape = '',"
    " header = false, skip = 1, auto_detect = false, strict_mode = false)"
)
JOIN = r"""
CREATE TABLE joined AS
WITH basic AS (
  SELECT split_part(line, chr(9), 1)::BIGINT AS number,
         line[strpos(line, chr(9)) + 1:] AS person
  FROM {basic}
), exam AS (
  SELECT split_part(line, chr(9), 1)::BIGINT AS number, split_part(line, chr(9), 2)::BIGINT AS exam
  FROM {exam}
), exercise AS (
  SELECT string_split(line, chr(9)) AS fields, fields[1]::BIGINT AS number,
         list_sum(fields[2:]::BIGINT[])::BIGINT AS exercises, len(fields) - 1 AS counted
  FROM {exercise}
), project AS (
  SELECT split_part(line, chr(9), 1)::BIGINT AS number,
         split_part(line, chr(9), 2)::BIGINT AS project
  FROM {project}
), counted AS (
  SELECT coalesce(max(counted), 0) + 1 AS others FROM exercise
)
SELECT number, person, exam, exercises, project,
       CASE WHEN 2 * exam < {points} THEN 0
            ELSE least(greatest(10 * (exam * others + exercises + project)
                                // (2 * others * {points}) - 4, 0), 5) END AS grade
FROM basic FULL JOIN exam USING (number) FULL JOIN exercise USING (number)
     FULL JOIN project USING (number), counted
"""
PADDED = "CASE WHEN number < 10000 THEN lpad(number::VARCHAR, 5, '0') ELSE number::VARCHAR END"
RESULT = f"""
SELECT concat_ws(chr(9), {PADDED}, person, exam, exercises, project, grade)
FROM joined WHERE person IS NOT NULL AND exam + exercises + project IS NOT NULL ORDER BY number
"""
INCOMPLETE = f"""
SELECT concat_ws(chr(9), {PADDED},
                 CASE WHEN person IS NULL THEN 'basic-student-info.txt' END,
                 CASE WHEN exam IS NULL THEN 'exam-info.txt' END,
                 CASE WHEN exercises IS NULL THEN 'exercise-info.txt' END,
                 CASE WHEN project IS NULL THEN 'project-info.txt' END)
FROM joined WHERE person IS NULL OR exam + exercises + project IS NULL ORDER BY number
"""
FILES = ("basic-student-info", "exam-info", "exercise-info", "project-info")


def write(connection: duckdb.DuckDBPyConnection, query: str, first: str, path: Path) -> int:
    """Writes the lines of the query below a first one; returns how many."""
    count = 0
    cursor = connection.execute(query)
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.write(f"{first}\n")
        while rows := cursor.fetchmany(50_000):
            out.writelines(f"{line}\n" for (line,) in rows)
            count += len(rows)
    return count


def main() -> int:
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    points = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    tables = {
        name.split("-")[0]: LINES.format(path=str(folder / f"{name}.txt").replace("'", "''"))
        for name in FILES
    }
    connection = duckdb.connect()
    connection.execute(JOIN.format(points=points, **tables))
    write(connection, RESULT, "summarydata", target)
    listed = target.with_name(f"{target.name}.incomplete")
    if write(connection, INCOMPLETE, "incompletedata", listed) == 0:
        listed.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
