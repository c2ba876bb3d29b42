"""SMOLTRACE's own code over our files: what it makes of the series, the results and the leaderboard row.

Arguments: our folder, SMOLTRACE's recorded leaderboard row, and where to write a leaderboard with both rows as it would
push it. Prints what it found as JSON.
"""

import importlib
import importlib.machinery
import json
import sys
import types

import datasets

datasets.disable_progress_bars()

# Without the package's own start, which wants an agent framework that reading files does not.
spec = importlib.machinery.PathFinder.find_spec("smoltrace")
package = types.ModuleType("smoltrace")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["smoltrace"] = package
utils = importlib.import_module("smoltrace.utils")

folder, recorded, board = sys.argv[1:4]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


metrics = load(f"{folder}/metrics.json")
theirs, ours = load(recorded), load(f"{folder}/leaderboard_row.json")
merged = utils._build_leaderboard_dataset([theirs], ours)
merged.to_parquet(board)
# As `push_results_to_hf` makes a dataset of each list.
results = datasets.Dataset.from_list(load(f"{folder}/results.json"))
flat = datasets.Dataset.from_list(utils.flatten_metrics_for_hf(metrics))
gpus = utils.aggregate_gpu_metrics(metrics["resourceMetrics"])
print(
    json.dumps(
        {
            "results": list(results["task_id"]),
            "flat": [row for row in flat],
            "gpus": gpus,
            "runs": list(merged["run_id"]),
            "rates": list(merged["success_rate"]),
        }
    )
)
