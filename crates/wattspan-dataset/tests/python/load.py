"""Loads files and compares what comes out with what is said on standard input.

The input is a list of checks: `loader`, `path`, `rows` (how many), and `columns`: by name the `type` as the loader calls
it, and where given the number of `nulls`, the `values`, and by how much numbers may differ (`within`). Everything that is
wrong is told at once.
"""

import json
import sys

import datasets
import pandas
import pyarrow.parquet

datasets.disable_progress_bars()


class OfDatasets:
    """What `datasets` loads."""

    def __init__(self, loaded):
        self.loaded = loaded

    def rows(self):
        return len(self.loaded)

    def names(self):
        return self.loaded.column_names

    def type(self, name):
        feature = self.loaded.features[name]
        if isinstance(feature, datasets.List):
            return f"list<{feature.feature.dtype}>" if hasattr(feature.feature, "dtype") else "list<struct>"
        return feature.dtype if hasattr(feature, "dtype") else "struct"

    def values(self, name):
        return list(self.loaded[name])


class OfPandas:
    """What pandas loads."""

    def __init__(self, frame):
        self.frame = frame

    def rows(self):
        return len(self.frame)

    def names(self):
        return list(self.frame.columns)

    def type(self, name):
        return str(self.frame[name].dtype)

    def values(self, name):
        return list(self.frame[name])


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["rows"]


LOADERS = {
    "datasets json": lambda path: OfDatasets(datasets.load_dataset("json", data_files=path, split="train")),
    "datasets parquet": lambda path: OfDatasets(datasets.load_dataset("parquet", data_files=path, split="train")),
    # `load_dataset` refuses a file without rows, whoever wrote it.
    "datasets empty": lambda path: OfDatasets(datasets.Dataset(pyarrow.parquet.read_table(path))),
    "datasets rows": lambda path: OfDatasets(datasets.Dataset.from_list(rows_of(path))),
    "pandas json": lambda path: OfPandas(pandas.read_json(path, dtype=False)),
    "pandas object": lambda path: OfPandas(pandas.DataFrame([pandas.read_json(path, typ="series", dtype=False)])),
    "pandas rows": lambda path: OfPandas(pandas.DataFrame(rows_of(path))),
    "pandas parquet": lambda path: OfPandas(pandas.read_parquet(path)),
    "pandas arrow": lambda path: OfPandas(pandas.read_parquet(path, dtype_backend="pyarrow")),
}


def plain(value):
    """As JSON has it: absence is None, times are text."""
    if value is None or value is pandas.NA or value is pandas.NaT:
        return None
    if isinstance(value, float) and value != value:
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return [plain(part) for part in value]
    return value.item() if hasattr(value, "item") else value


def same(found, expected, within):
    if isinstance(expected, float) and isinstance(found, float):
        return abs(found - expected) <= within
    # True is 1 to Python, and 1 is 1.0.
    return found == expected and isinstance(found, bool) == isinstance(expected, bool)


def wrong(check):
    table = LOADERS[check["loader"]](check["path"])
    if table.rows() != check["rows"]:
        yield f"{table.rows()} rows for {check['rows']}"
        return
    if "names" in check and table.names() != check["names"]:
        yield f"columns {table.names()} for {check['names']}"
    for name, expected in check["columns"].items():
        if table.type(name) != expected["type"]:
            yield f"{name} is {table.type(name)} for {expected['type']}"
        values = [plain(value) for value in table.values(name)]
        nulls = values.count(None)
        if nulls != expected.get("nulls", nulls):
            yield f"{name} has {nulls} nulls for {expected['nulls']}"
        wanted = expected.get("values", values)
        pairs = zip(values, wanted, strict=True)
        if not all(same(one, other, expected.get("within", 0)) for one, other in pairs):
            yield f"{name} is {values} for {wanted}"


faults = [
    f"{check['loader']} of {check['path']}: {fault}" for check in json.load(sys.stdin) for fault in wrong(check)
]
sys.exit("\n".join(faults) if faults else 0)
