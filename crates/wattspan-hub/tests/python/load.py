"""Loads the repositories of a push with the official libraries and checks types and gaps."""

import sys

import datasets
import pandas
import pyarrow.parquet
from huggingface_hub import HfApi, hf_hub_download

results, traces, metrics, empty, leaderboard = sys.argv[1:]
DATA = "data/train-00000-of-00001.parquet"


def table(repo):
    return hf_hub_download(repo, DATA, repo_type="dataset")


info = HfApi().dataset_info(results)
assert info.private is True, info
assert {file.rfilename for file in info.siblings} >= {"README.md", DATA, "metadata.json"}, info.siblings
assert info.card_data is None or info.card_data.get("configs") is not None, info.card_data

frame = pandas.read_parquet(table(results))
assert list(frame["task_id"]) == ["case-0", "case-1", "case-2"], frame["task_id"]
assert frame["success"].tolist() == [True, True, False]
assert str(frame["evaluation_date"].dtype).startswith("datetime64[") and frame["evaluation_date"].dt.tz is not None
assert frame["evaluation_date"][0].isoformat() == "2026-12-01T21:46:39.403957+00:00"
assert frame["energy_j"][0] == 12.5 and pandas.isna(frame["energy_j"][2])
assert pandas.isna(frame["total_tokens"][1]) and frame["total_tokens"][2] == 12

schema = pyarrow.parquet.read_schema(table(results))
assert str(schema.field("total_tokens").type) == "int64", schema.field("total_tokens")
assert str(schema.field("tools_used").type).startswith("list<"), schema.field("tools_used")

rows = datasets.load_dataset(results, split="train")
assert rows.num_rows == 3, rows
assert rows[1]["total_tokens"] is None and rows[2]["energy_j"] is None, rows[1]
assert rows[2]["tools_used"] == ["clock", "clock"] and rows[0]["tools_used"] == [], rows[2]
assert rows.features["success"].dtype == "bool" and rows.features["energy_j"].dtype == "float64"

spans = datasets.load_dataset(traces, split="train")
assert spans.num_rows == 2 and spans[0]["spans"][0]["name"] == "chat smollm2", spans[0]

power = datasets.load_dataset(metrics, split="train")
assert power["gpu_power_watts"][:] == [300.5, None, 300.5, None, 300.5], power["gpu_power_watts"][:]

nothing = pandas.read_parquet(table(empty))
assert len(nothing) == 0 and list(nothing.columns) == list(pandas.read_parquet(table(metrics)).columns)
nothing = pandas.read_parquet(f"hf://datasets/{empty}/{DATA}")
assert len(nothing) == 0 and set(nothing.columns) == set(power.column_names), nothing
try:
    datasets.load_dataset(empty, split="train")
except ValueError as error:
    # The library's own limit, which is why the card of an empty table names pandas.
    assert "corresponds to no data" in str(error), error
else:
    raise AssertionError("datasets loads tables without rows now: say so in the card")

board = datasets.load_dataset(leaderboard, split="train")
assert sorted(board["run_id"]) == ["run-1", "run-2"], board["run_id"]
by_run = {row["run_id"]: row for row in board}
assert by_run["run-1"]["results_dataset"] == results and by_run["run-1"]["total_tests"] == 3
assert by_run["run-1"]["co2_emissions_g"] is None
print("all is as it should be")
