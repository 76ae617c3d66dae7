"""Have Coq check the certificate of every built-in model, two at a time; end with 1 if it refuses one.

    python tools/certify.py [MODEL…]
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import symbptt
from symbptt import api
from symbptt.proof.checker import CheckerError, Verdict, library, version
from symbptt.render.certificate_check import examined


def judged(name: str) -> tuple[str, float, Verdict]:
    """The verdict on one model, after its statement was compared with the model, and the seconds that it took."""
    began = time.perf_counter()
    model = symbptt.load(name)
    verdict = examined(symbptt.derive(model).certificate(), model)
    return name, time.perf_counter() - began, verdict


def main(names: list[str]) -> int:
    """Check the models named, or all that are built in."""
    try:
        library()
        print(version())
        refused = 0
        with ThreadPoolExecutor(max_workers=2) as pool:
            for name, seconds, verdict in pool.map(judged, names or api.library()):
                refused += not verdict.accepted
                said = ", ".join(t.name for t in verdict.theorems) if verdict.accepted else f"REFUSED: {verdict.reason}"
                print(f"{name:18} {seconds:6.1f} s  {said}", flush=True)
    except CheckerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
