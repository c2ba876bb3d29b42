"""Run llama.cpp's own HTTP server out of the `xllamacpp` wheel, for tests and the demo.

Prints one line, `READY <port>`, on standard output once `/health` answers 200, and nothing else there: the server's log
goes to standard error. It stops when its standard input is closed, so a parent that dies, however it dies, leaves no
server behind; keep a pipe open on it for as long as the server is wanted.

Exit status: 0 after a closed input, 1 when the server cannot start, 2 for wrong arguments.
"""

import argparse
import http.client
import os
import sys
import threading
import time
from urllib.parse import urlsplit


def arguments():
    parser = argparse.ArgumentParser(description="llama-server from the xllamacpp package")
    parser.add_argument("--model", required=True, help="path of a GGUF file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: the system picks a free one (default)")
    parser.add_argument("--parallel", type=int, default=2, help="number of slots")
    parser.add_argument("--ctx", type=int, default=2048, help="context size in tokens, shared out over the slots")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--n-gpu-layers", type=int, default=None)
    parser.add_argument("--alias", default=None, help="the model name that answers carry")
    parser.add_argument("--api-key", action="append", default=[], help="may be given several times")
    parser.add_argument("--embeddings", action="store_true", help="serve embeddings as well (mean pooling)")
    parser.add_argument("--slot-save-path", default=None)
    parser.add_argument("--start-timeout", type=float, default=300.0, help="seconds until the server must be healthy")
    return parser.parse_args()


def parameters(xllamacpp, args):
    params = xllamacpp.CommonParams()
    params.model.path = args.model
    params.hostnames = [args.host]
    params.port = args.port
    params.n_parallel = args.parallel
    params.n_ctx = args.ctx
    params.cpuparams.n_threads = args.threads
    params.cpuparams_batch.n_threads = args.threads
    params.endpoint_metrics = True
    params.endpoint_slots = True
    if args.n_gpu_layers is not None:
        params.n_gpu_layers = args.n_gpu_layers
    if args.alias:
        params.model_alias = {args.alias}
    if args.api_key:
        params.api_keys = args.api_key
    if args.embeddings:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    if args.slot_save_path:
        # The server joins folder and file name by plain concatenation.
        params.slot_save_path = os.path.join(args.slot_save_path, "")
    return params


def wait_until_healthy(host, port, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            # Not urllib: an HTTP_PROXY in the environment must not stand between us and loopback.
            connection = http.client.HTTPConnection(host, port, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


def stop_when_input_closes(descriptor):
    # The raw descriptor, not sys.stdin: a thread inside a buffered reader would hold its lock at exit.
    while os.read(descriptor, 4096):
        pass
    # Not sys.exit: the server's own shutdown waits for open streams, and nobody reads them any more.
    os._exit(0)


def main():
    args = arguments()
    if not os.path.isfile(args.model):
        sys.exit(f"no model file at {args.model}")
    try:
        import xllamacpp
    except ImportError as error:
        sys.exit(f"cannot import xllamacpp ({error}): run `cargo xtask setup`")

    # Before the server starts: a parent that goes away while the model loads ends us as well.
    threading.Thread(target=stop_when_input_closes, args=(0,), daemon=True).start()

    # llama.cpp writes some log lines to file descriptor 1; the parent reads READY there and nothing else.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    try:
        server = xllamacpp.Server(parameters(xllamacpp, args))
    except Exception as error:  # the wheel raises plain RuntimeError, ValueError, ...
        print(f"llama-server did not start: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    port = urlsplit(server.listening_address).port
    probe_host = "127.0.0.1" if args.host == "0.0.0.0" else args.host
    if not wait_until_healthy(probe_host, port, args.start_timeout):
        print(f"llama-server on port {port} did not become healthy", file=sys.stderr, flush=True)
        os._exit(1)

    print(f"READY {port}", file=answer, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
