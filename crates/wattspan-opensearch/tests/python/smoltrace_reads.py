"""Asks the indexes of a run as a user of SMOLTRACE would, with the official client, and lets SMOLTRACE's own exporter write
beside them. Prints one JSON object.

Arguments: the server's URL, the index prefix, the run, its indexes' time."""

import json
import sys
import types

from opensearchpy import OpenSearch

URL, PREFIX, RUN, TIME = sys.argv[1:5]

# The package's own __init__ wants all that an evaluation needs; the exporter needs the client alone.
import importlib.util

spec = importlib.util.find_spec("smoltrace")
package = types.ModuleType("smoltrace")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["smoltrace"] = package
from smoltrace.exporters import opensearch as peer

MAPPINGS = {
    "results": peer.RESULTS_INDEX_MAPPING,
    "traces": peer.TRACES_INDEX_MAPPING,
    "metrics": peer.METRICS_INDEX_MAPPING,
    "leaderboard": peer.LEADERBOARD_INDEX_MAPPING,
}
# What answers the same questions.
FAMILY = {"integer": "number", "long": "number", "float": "number", "double": "number"}


def index(table):
    return f"{PREFIX}-leaderboard" if table == "leaderboard" else f"{PREFIX}-{table}-{TIME}"


client = OpenSearch(hosts=[URL])
found = {"fields": 0, "differ": [], "missing": []}


def compare(path, theirs, ours):
    for name, field in theirs.items():
        if name not in ours:
            found["missing"].append(f"{path}.{name}")
            continue
        is_, should = ours[name].get("type", "object"), field.get("type", "object")
        if FAMILY.get(is_, is_) != FAMILY.get(should, should):
            found["differ"].append(f"{path}.{name}: {should} is {is_}")
        found["fields"] += 1
        compare(f"{path}.{name}", field.get("properties", {}), ours[name].get("properties", {}))


for table, mapping in MAPPINGS.items():
    ours = client.indices.get_mapping(index=index(table))[index(table)]["mappings"]["properties"]
    compare(table, mapping["mappings"]["properties"], ours)


def count(table, query):
    return client.search(index=index(table), body={"query": query, "size": 0, "track_total_hits": True})["hits"]["total"]["value"]


found["queries"] = {
    "run": count("results", {"term": {"run_id": RUN}}),
    "success": count("results", {"term": {"success": True}}),
    "prompt": count("results", {"match": {"prompt": "weather"}}),
    "tokens": count("results", {"range": {"total_tokens": {"gt": 0}}}),
    "tools": count("results", {"term": {"tools_used": "get_weather"}}),
    "spans": count("traces", {"nested": {"path": "spans", "query": {"term": {"spans.name": "chat"}}}}),
    "power": count("metrics", {"range": {"gpu_power_watts": {"gte": 60}}}),
    "times": count("metrics", {"range": {"timestamp": {"gte": "2026-12-01T21:46:38"}}}),
    "gpu": count("metrics", {"term": {"gpu_id": "1"}}),
    "leaderboard": count("leaderboard", {"term": {"metrics_index": index("metrics")}}),
}
by = client.search(
    index=index("results"),
    body={"size": 0, "aggs": {"by": {"terms": {"field": "agent_type"}, "aggs": {"ms": {"avg": {"field": "execution_time_ms"}}}}}},
)
found["average"] = by["aggregations"]["by"]["buckets"][0]["ms"]["value"]
top = client.search(index=index("leaderboard"), body={"sort": [{"success_rate": "desc"}], "size": 1})
found["top"] = top["hits"]["hits"][0]["_source"]["run_id"]

# SMOLTRACE itself, with the same prefix.
exporter = peer.OpenSearchExporter(index_prefix=PREFIX, opensearch_url=URL)
names = exporter.export_all(
    flat_results=[{"test_case_uid": "code:x", "task_id": "x", "success": True, "prompt": "weather", "total_tokens": 5}],
    trace_data=[{"trace_id": "0xa", "spans": [{"name": "chat", "attributes": {"a.b": 1, "c": "d"}, "start_time": 1}]}],
    flat_metrics=[{"timestamp": "2026-12-01T21:46:38", "gpu_power_watts": 5.5, "gpu_id": "0"}],
    leaderboard_row={"run_id": "theirs", "success_rate": 10.0, "total_tokens": 5, "hardware_detail": {"os": "Linux", "gpus": []}},
    model_name="m",
    run_id="theirs",
    timestamp="20270101_000000",
)
client.indices.refresh(index=f"{PREFIX}-*")
found["theirs"] = [client.count(index=names[table])["count"] for table in ("results", "traces", "metrics", "leaderboard")]
print(json.dumps(found))
