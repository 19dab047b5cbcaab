#!/usr/bin/env python3
"""The join of the students' files by Spark, on one or many hosts: the result of merge.

Usage: spark_join.py FOLDER RESULT [POINTS]      (or spark-submit, with a master of your own)

FOLDER is where all workers read it. The files must be good: unlike merge this says nothing of bad
lines. It needs the package pyspark and Java 17. Without a master it starts two workers here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

FILES = {
    "person": "basic-student-info.txt",
    "exam": "exam-info.txt",
    "exercises": "exercise-info.txt",
    "project": "project-info.txt",
}
TYPES = ("studentdata", "examdata", "exercisedata", "exerciseworkdata")


def read(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    """The lines of a file as number and fields; the first line is left out."""
    lines = spark.read.text(str(folder / FILES[name])).where(~f.col("value").isin(*TYPES))
    fields = f.split("value", "\t")
    columns: dict[str, Column] = {
        "person": f.expr("substring(value, instr(value, '\t') + 1)"),
        "exam": fields[1].cast("long"),
        "exercises": f.expr(
            "aggregate(slice(split(value, '\t'), 2, 20000), 0L, (sum, x) -> sum + cast(x AS long))"
        ),
        "project": fields[1].cast("long"),
    }
    return lines.select(fields[0].cast("long").alias("number"), columns[name].alias(name))


def counted(spark: SparkSession, folder: Path) -> int:
    """How many exercises there are: those of the second line."""
    lines = spark.read.text(str(folder / FILES["exercises"]))
    row = lines.where(~f.col("value").isin(*TYPES)).first()
    return len(row.value.split("\t")) - 1 if row else 0


def write(lines: DataFrame, first: str, path: Path) -> int:
    """Writes the sorted lines below a first one, a partition at a time; returns how many."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.write(f"{first}\n")
        for row in lines.toLocalIterator():
            out.write(f"{row.line}\n")
            count += 1
    return count


def join(spark: SparkSession, folder: Path, target: Path, points: int) -> None:
    """Writes the result and the list of incomplete students."""
    joined = read(spark, folder, "person")
    for name in ("exam", "exercises", "project"):
        joined = joined.join(read(spark, folder, name), "number", "full")
    joined = joined.cache()
    others = counted(spark, folder) + 1
    padded = "CASE WHEN number < 10000 THEN lpad(number, 5, '0') ELSE string(number) END"
    grade = (
        f"CASE WHEN 2 * exam < {points} THEN 0 ELSE least(greatest("
        f"10 * (exam * {others} + exercises + project) div (2 * {others} * {points}) - 4, 0), 5)"
        " END"
    )
    known = " AND ".join(f"{name} IS NOT NULL" for name in FILES)
    result = f"concat_ws('\t', {padded}, person, exam, exercises, project, {grade}) AS line"
    lacks = ", ".join(f"CASE WHEN {name} IS NULL THEN '{file}' END" for name, file in FILES.items())
    incomplete = f"concat_ws('\t', {padded}, {lacks}) AS line"
    complete = joined.where(known).orderBy("number").selectExpr(result)
    write(complete, "summarydata", target)
    listed = target.with_name(f"{target.name}.incomplete")
    rest = joined.where(f"NOT ({known})").orderBy("number").selectExpr(incomplete)
    if write(rest, "incompletedata", listed) == 0:
        listed.unlink()


def main() -> int:
    folder, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    points = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    builder = SparkSession.builder.appName("students")
    if "MASTER" not in os.environ and "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.master("local-cluster[2,1,1024]").config(
            map={
                "spark.sql.shuffle.partitions": 4,  # 200 cost more than these files do
                "spark.ui.enabled": False,
                "spark.ui.showConsoleProgress": False,
            }
        )
    spark = builder.getOrCreate()
    try:
        join(spark, folder, target, points)
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
