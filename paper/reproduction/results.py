"""The file of results: one JSON row a line, a line a run, only ever appended to."""

import json
import os


def read_rows(path):
    """Rows of a results file, oldest first; a last line that was cut off by a kill is no row.

    Raises
    ------
    ValueError
        If any other line is not JSON.
    """
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8").split("\n")  # whole lines end in a newline
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number} is not a JSON row: {error}. Mend or remove that line.") from error
    return rows


def append_row(path, row):
    """Append a row in a single write, after removing what a killed write left behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = (json.dumps(row) + "\n").encode()
    with open(path, "ab", buffering=0) as file:
        if (end := _end_of_last_line(path)) < path.stat().st_size:
            file.truncate(end)
        file.write(line)
        os.fsync(file.fileno())


def _end_of_last_line(path):
    return path.read_bytes().rfind(b"\n") + 1
