"""SMOLTRACE's exporter on the rows of the benchmark: CPU time and peak memory of this process.

Arguments: the server's URL, results, metric documents. Rows are made before the clock starts, as it wants them in lists; their
memory counts, since it cannot do without. Prints one JSON object."""

import contextlib
import importlib.util
import io
import json
import resource
import sys
import time
import types

url, results, metrics = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
spec = importlib.util.find_spec("smoltrace")
package = types.ModuleType("smoltrace")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["smoltrace"] = package
from smoltrace.exporters.opensearch import OpenSearchExporter

# On a busy machine a request takes longer than the client's ten seconds, and then the exporter gives up.
import functools

import opensearchpy

opensearchpy.OpenSearch = functools.partial(opensearchpy.OpenSearch, timeout=300)

flat_results = [
    {
        "model": "a-model-Q4_K_M.gguf", "evaluation_date": "2026-12-01T21:46:38.000000", "task_id": f"task_{i}",
        "test_case_uid": f"tool:task_{i}", "agent_type": "tool", "difficulty": "easy",
        "prompt": "What is the capital of the country whose flag is red and white?",
        "success": i % 7 != 0, "tool_called": True, "correct_tool": True, "final_answer_called": True,
        "response_correct": True, "pass_at_1_passed": i % 7 != 0, "tools_used": ["get_weather", "final_answer"], "steps": 2,
        "response": "There are several; Vienna is one, Bern and Copenhagen are others.", "error": None,
        "trace_id": f"{i:032x}", "span_id": f"{i:016x}", "execution_time_ms": 400.0 + i / 7, "total_tokens": 120 + i % 50,
        "cost_usd": 2.7e-05, "enhanced_trace_info": "{}", "stop_reason": "final_answer", "timed_out": False,
    }
    for i in range(results)
]
flat_metrics = [
    {
        "run_id": "bench", "service_name": "bench", "timestamp": "2026-12-01T21:46:38",
        "timestamp_unix_nano": str(1796161598000000000 + i * 1000000000), "gpu_id": "0", "gpu_name": "NVIDIA A100-SXM4-40GB",
        "co2_emissions_gco2e": i * 0.04, "power_cost_usd": i * 1e-5, "gpu_utilization_percent": (i % 1000) / 10,
        "gpu_memory_used_mib": 512.25 + i % 1000, "gpu_memory_total_mib": 40960.0,
        "gpu_temperature_celsius": 40 + (i % 1000) / 50, "gpu_power_watts": 60 + (i % 1000) / 3,
    }
    for i in range(metrics)
]
begin, cpu = time.perf_counter(), time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    names = OpenSearchExporter(index_prefix="peer", opensearch_url=url).export_all(
        flat_results, [], flat_metrics, {"run_id": "bench"}, "m", "bench", "20261201_214638"
    )
print(json.dumps({
    "wall": time.perf_counter() - begin,
    "cpu": time.process_time() - cpu,
    "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
}))
