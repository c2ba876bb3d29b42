"""Writes the bench's run with SMOLTRACE's own JSON exporter, and says how long that took.

Arguments: results, metric rows, GPUs, output folder. The rows are those of json.rs; what SMOLTRACE takes in is made before
its clock starts. Prints one line of JSON.
"""

import contextlib
import importlib.machinery
import importlib.metadata
import importlib.util
import io
import json
import resource
import sys
import time
import types

RESULTS, ROWS, GPUS = (int(number) for number in sys.argv[1:4])
FOLDER = sys.argv[4]


def exporter():
    """`smoltrace.utils` without the package's own start, which wants an agent framework that writing files does not."""
    spec = importlib.machinery.PathFinder.find_spec("smoltrace")
    package = types.ModuleType("smoltrace")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["smoltrace"] = package
    return importlib.import_module("smoltrace.utils").save_results_locally


def results():
    for index in range(RESULTS):
        yield {
            "test_id": f"task_{index}",
            "test_case_uid": f"none:task_{index}",
            "agent_type": "none",
            "difficulty": "easy",
            "prompt": "What is the capital of the country whose flag is red and white?",
            "response": "There are several; Vienna is one, Bern and Copenhagen are others.",
            "success": index % 7 != 0,
            "tool_called": False,
            "correct_tool": False,
            "final_answer_called": True,
            "response_correct": None,
            "tools_used": [],
            "steps": 1,
            "trace_id": f"{index:032x}",
            "span_id": f"{index:016x}",
            "run_id": "bench",
            "enhanced_trace_info": {"duration_ms": 400.0 + index / 7.0, "total_tokens": 120 + index % 50},
        }


def metrics():
    """One collection for each moment, one point for each GPU and metric."""

    def point(gpu, nanos, value):
        return {
            "attributes": [
                {"key": "gpu_id", "value": {"stringValue": str(gpu)}},
                {"key": "gpu_name", "value": {"stringValue": "NVIDIA A100-SXM4-40GB"}},
            ],
            "timeUnixNano": nanos,
            "asInt": None,
            "asDouble": value,
        }

    def collection(moment):
        indexes = range(moment * GPUS, min((moment + 1) * GPUS, ROWS))
        nanos = f"{1767225600 + moment}000000000"
        columns = [
            ("gen_ai.gpu.utilization", "gauge", "%", lambda value: value / 10),
            ("gen_ai.gpu.memory.used", "gauge", "MiB", lambda value: 512.25 + value),
            ("gen_ai.gpu.memory.total", "gauge", "MiB", lambda value: 40960.0),
            ("gen_ai.gpu.temperature", "gauge", "Cel", lambda value: 40.0 + value / 50),
            ("gen_ai.gpu.power", "gauge", "W", lambda value: 60.0 + value / 3),
            ("gen_ai.co2.emissions", "sum", "gCO2e", lambda value: moment * 0.04),
            ("gen_ai.power.cost", "sum", "USD", lambda value: moment * 1e-5),
        ]
        listed = []
        for name, kind, unit, figure in columns:
            points = [point(index % GPUS, nanos, figure(float(index % 1000))) for index in indexes]
            data = {"dataPoints": points}
            if kind == "sum":
                data |= {"aggregationTemporality": 2, "isMonotonic": True}
            listed.append({"name": name, "description": name, "unit": unit, kind: data})
        return {
            "resource": {
                "attributes": [
                    {"key": "service.name", "value": {"stringValue": "bench"}},
                    {"key": "run.id", "value": {"stringValue": "bench"}},
                    {"key": "telemetry.sdk.name", "value": {"stringValue": "opentelemetry"}},
                    {"key": "telemetry.sdk.language", "value": {"stringValue": "python"}},
                ]
            },
            "scopeMetrics": [{"scope": {"name": "genai.gpu", "version": "1"}, "metrics": listed}],
        }

    moments = (ROWS + GPUS - 1) // GPUS
    return {"run_id": "bench", "resourceMetrics": [collection(moment) for moment in range(moments)], "aggregates": []}


save = exporter()
all_results, metric_data = {"none": list(results())}, metrics()
wall, cpu = time.perf_counter(), time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    save(
        all_results,
        [],
        metric_data,
        "a-model-Q4_K_M.gguf",
        "none",
        "bench",
        FOLDER,
        run_id="bench",
        provider="transformers",
        hardware={"hardware": "bench", "hardware_detail": None, "hardware_scope": "model"},
    )
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(
    json.dumps(
        {
            "version": importlib.metadata.version("smoltrace"),
            "wall": wall,
            "cpu": cpu,
            "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        }
    )
)
