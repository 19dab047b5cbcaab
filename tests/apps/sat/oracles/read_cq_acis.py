"""Prints as JSON the volume and area of each body of a SAT file, in millimetres, that cq-acis makes
with CadQuery.

A body that cq-acis cannot make has the reason instead.
Usage: read_cq_acis.py FILE, with cq-acis on the path of modules.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cq_acis import CadQueryConverter, parse_sat_model
from version_700 import rewritten


def measured(converter: Any, body: Any) -> dict[str, Any]:
    try:
        shape = converter.convert_body(body)
        return {"volume": shape.Volume(), "area": shape.Area()}
    except Exception as error:  # of any sort: the reason is listed
        return {"why": f"{type(error).__name__}: {error}"}


def main() -> None:
    model = parse_sat_model(rewritten(Path(sys.argv[1]).read_text("latin-1")).encode("latin-1"))
    converter = CadQueryConverter(model)
    print(json.dumps([measured(converter, body) for body in model.bodies()]))


if __name__ == "__main__":
    main()
