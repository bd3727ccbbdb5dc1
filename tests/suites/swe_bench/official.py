"""SWE-bench's own parsers and grader, as a program: JSON lines in, JSON lines out.

Run by a Python that has `swebench` 5.0.2 and nothing of ours. The stand-in for the package's
`harness` keeps it from loading what grading does not need (cloud clients, data sets): 0.1 s, not 5.
"""

import json
import sys
import tempfile
import types

import swebench

harness = types.ModuleType("swebench.harness")
harness.__path__ = [swebench.__path__[0] + "/harness"]
sys.modules["swebench.harness"] = harness

from swebench.harness.grading import get_eval_report  # noqa: E402
from swebench.harness.log_parsers import PARSER_REGISTRY  # noqa: E402
from swebench.types import TestSpec  # noqa: E402


def main():
    for line in sys.stdin:
        asked = json.loads(line)
        spec = TestSpec(
            instance_id="x",
            image="",
            eval_script_list=[],
            repo="",
            version="",
            FAIL_TO_PASS=asked.get("fail_to_pass", []),
            PASS_TO_PASS=asked.get("pass_to_pass", []),
            log_parser=asked["parser"],
            eval_type=asked.get("eval_type", "pass_and_fail"),
        )
        try:
            answer = {"found": PARSER_REGISTRY[asked["parser"]](asked["log"], spec)}
        except (AttributeError, IndexError) as error:  # some trip over a line that is no test
            answer = {"found": None, "error": repr(error)}
        if asked.get("grade"):
            with tempfile.NamedTemporaryFile("w", newline="") as file:
                file.write(asked["log"])
                file.flush()
                prediction = {"instance_id": "x", "model_patch": asked["patch"]}
                report = get_eval_report(spec, prediction, file.name, include_tests_status=True)
            answer["report"] = report["x"]
        sys.stdout.write(json.dumps(answer) + "\n")


main()
