"""The process that serves a GGUF model. `gguf.serving` starts it; it ends with its parent."""

from __future__ import annotations

import json
import os
import sys
import threading


def main() -> None:
    """Load the model, print the server's address and serve until standard input ends.

    The only argument is a JSON list: file, model name, context in tokens, concurrent conversations,
    threads or null, chat template or null.
    """
    path, name, context, slots, threads, chat_template = json.loads(sys.argv[1])
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    import xllamacpp  # slow to import; the parent may end meanwhile

    asked = xllamacpp.CommonParams()
    asked.model.path = path
    asked.model_alias = {name}
    asked.port = 0  # any free port
    asked.cors_origins = "http://127.0.0.1"  # or any page in a browser could send requests
    asked.endpoint_slots = asked.ui = False  # current prompts, and a web page
    asked.n_ctx = context * slots  # the server divides it among the slots
    asked.n_parallel = slots
    asked.cache_ram_mib = 0  # otherwise prompts of finished episodes take up to 8 GiB
    if threads:
        asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    if chat_template:
        asked.chat_template = chat_template
    server = xllamacpp.Server(asked)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


def _end_with_the_parent() -> None:
    """Exit when the pipe from the parent closes, whatever ended the parent."""
    os.read(sys.stdin.fileno(), 1)  # blocks until closed; a file object would hold a lock
    os._exit(0)


if __name__ == "__main__":
    main()
