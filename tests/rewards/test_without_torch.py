"""`rewards` runs where torch, numpy and the training libraries can't be imported."""

import subprocess
import sys

from tests.paths import ROOT

PROGRAM = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "numpy", "transformers", "trl", "datasets", "av"}:
            raise ImportError(f"{name} is refused here")
        if name.startswith("affect.model"):
            raise ImportError(f"{name} is refused here")

sys.meta_path.insert(0, Refuse())
try:
    import torch
except ImportError:
    pass
else:
    raise SystemExit("the refusal does not work")

from rewards import RewardSet
segment = '{"start_time": 0.0, "end_time": 5.0, "emotion": "Joy", "reason": "Joy."}'
solution = '{"segments": [' + segment + ']}'
for preset in ("paper", "hardened"):
    for function in RewardSet.from_preset(preset).trl_functions():
        values = function(["p"], [solution], [[1]], solution=[solution], video_duration=[5.0])
        sys.stdout.write(f"{function.__name__} {values} ")
"""


def test_rewards_import_and_run_without_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("struct [1.0] count [1.0] seg [1.0] emo [1.0] reason [0.05")
    assert done.stdout.endswith("struct [1.0] count [1.0] seg [1.0] emo [1.0] reason [1.0] ")
