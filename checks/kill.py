"""Fits ended by SIGKILL at random moments and started again: `python checks/kill.py --n-kills 20`.

Each trial fits the digits in a process of its own, which is killed at a moment drawn uniformly from the time that a
whole fit takes, and then lets a second process go on. Its labels must be those of a fit that was never killed, and the
folder of checkpoints must be empty afterwards. The fit is a short one (two members, three rounds); the moments cover
pretraining, clusterings, rounds, the writing of checkpoints and the classifiers at the end.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FIT = """
import sys
import numpy as np
from sklearn.datasets import load_digits
from skspc import SPCClustering

images = load_digits().images
print("fitting", flush=True)
model = SPCClustering(
    10, n_estimators=2, pretrain_epochs=5, epochs=3, max_iter=3, n_iter_no_change=9, random_state=0,
    checkpoint=sys.argv[1],
).fit(images, monitor=lambda history: print(len(history), flush=True))
np.save(sys.argv[2], model.member_labels_)
"""


def start_fit(folder, result):
    """Start a process, and wait until its fit begins."""
    process = subprocess.Popen([sys.executable, "-c", FIT, folder, result], stdout=subprocess.PIPE, text=True)
    if process.stdout.readline().strip() != "fitting":
        raise RuntimeError("The fit did not begin.")
    return process


def finish(process):
    """Wait for the end of a fit: the clusterings that it made itself."""
    clusterings = process.stdout.read().split()
    if process.wait() != 0:
        raise RuntimeError("The fit failed.")
    return [int(number) for number in clusterings]


def run_trial(moment, folder, result):
    """Kill a fit at a moment, and let another go on: the clusterings that the second one still had to make."""
    process = start_fit(folder, result)
    time.sleep(moment)
    process.kill()
    process.wait()
    return finish(start_fit(folder, result))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    n_failed = 0
    with tempfile.TemporaryDirectory() as root:
        result = str(Path(root) / "labels.npy")
        begin = time.perf_counter()
        finish(start_fit(str(Path(root) / "whole"), result))
        seconds = time.perf_counter() - begin
        expected = np.load(result)
        print(f"A whole fit, with the start of its process, takes {seconds:.0f} s.")
        for trial in range(arguments.n_kills):
            folder = Path(root) / str(trial)
            moment = draw.uniform(0, seconds)
            made = run_trial(moment, str(folder), result)
            left = [str(path.relative_to(folder)) for path in folder.rglob("*")]
            same = np.array_equal(np.load(result), expected)
            n_failed += not same or bool(left)
            print(
                f"killed after {moment:.1f} s; clusterings made after it: {made}; "
                f"{'same labels' if same else 'OTHER LABELS'}; {f'LEFT: {left}' if left else 'nothing left'}",
                flush=True,
            )
    print(f"{arguments.n_kills - n_failed} of {arguments.n_kills} as they should be")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
