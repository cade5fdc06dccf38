"""Break each decision of the core in a copy of the package, and see which test fails.

    python benchmarks/mutations.py            # prints the table
    python benchmarks/mutations.py --report   # and writes it into tests/README.md

A mutation that no test catches makes the exit status 1.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from reproduction.report import markdown_table, replace_between_markers

ROOT = Path(__file__).parents[1]
COPIED = ["skspc", "tests", "benchmarks", "pyproject.toml"]


@dataclass(frozen=True)
class Mutation:
    """One decision, broken.

    Attributes
    ----------
    decision, broken : str
        What is decided, and how it is decided wrongly.
    file, old, new : str
        Source text of skspc, of which ``old`` occurs once, and what stands there instead.
    tests : str
        The test file that ought to notice.
    """

    decision: str
    broken: str
    file: str
    old: str
    new: str
    tests: str


MUTATIONS = [
    Mutation(
        "alignment",
        "the matching with the fewest rows in common",
        "_consensus.py",
        "linear_sum_assignment(counts, maximize=True)",
        "linear_sum_assignment(counts)",
        "test_consensus.py",
    ),
    Mutation(
        "tie rule",
        "ties go to the smallest label, whatever the reference says",
        "_consensus.py",
        "    labels = np.where(keeps, preferred, labels)\n",
        "",
        "test_consensus.py",
    ),
    Mutation(
        "noise rule",
        "noise abstains instead of counting against",
        "_consensus.py",
        "return self.votes / len(self.aligned)",
        "return self.votes / np.maximum((self.aligned != NOISE).sum(axis=0), 1)",
        "test_consensus.py",
    ),
    Mutation(
        "noise rule",
        "rows without any vote are agreed where nothing is asked for",
        "_consensus.py",
        "(votes > 0) & (votes >= min_agreement * n_labellings - 1e-9)",
        "votes >= min_agreement * n_labellings - 1e-9",
        "test_consensus.py",
    ),
    Mutation(
        "mask of agreed rows",
        "all rows train on their pseudo-label",
        "_rounds.py",
        "        selected &= select_agreed(consensus.votes, len(spaces), settings.min_agreement)\n",
        "        pass\n",
        "test_rounds.py",
    ),
    Mutation(
        "mask of agreed rows",
        "the cross-entropy of rows that are not selected counts",
        "_members.py",
        "(cross_entropy * chosen).mean(dim=1)",
        "cross_entropy.mean(dim=1)",
        "test_ensemble.py",
    ),
    Mutation(
        "loss branch",
        '"unagreed" reconstructs the agreed rows',
        "_members.py",
        "l1 * ~chosen",
        "l1 * chosen",
        "test_ensemble.py",
    ),
    Mutation(
        "loss branch",
        '"none" reconstructs all the same',
        "_members.py",
        'if reconstruction != "none":',
        "if reconstruction:",
        "test_ensemble.py",
    ),
    Mutation(
        "loss branch",
        "what an augmentation changes in place is reconstructed as changed",
        "_members.py",
        "x.flatten(0, 1).clone()",
        "x.flatten(0, 1)",
        "test_augmentations.py",
    ),
    Mutation(
        "loss branch",
        "pretraining reconstructs the augmented rows",
        "_members.py",
        "reconstruction_loss(decoded, x)",
        "reconstruction_loss(decoded, self._augmented(x, generator))",
        "test_augmentations.py",
    ),
    Mutation(
        "loss branch",
        "rounds reconstruct the augmented rows",
        "_members.py",
        "reconstruction_loss(self.autoencoder.decode(latents), x)",
        "reconstruction_loss(self.autoencoder.decode(latents), self._augmented(x, generator))",
        "test_augmentations.py",
    ),
    Mutation(
        "stop rule",
        "one round more of patience",
        "_history.py",
        ">= n_iter_no_change",
        "> n_iter_no_change",
        "test_history.py",
    ),
    Mutation(
        "stop rule",
        "growth within the tolerance counts",
        "_history.py",
        "> tol",
        ">= tol",
        "test_history.py",
    ),
    Mutation(
        "best round",
        "the last maximum instead of the first",
        "_history.py",
        "(progress_statistic(history[i]), -i)",
        "(progress_statistic(history[i]), i)",
        "test_history.py",
    ),
    Mutation(
        "best round",
        "mean agreement before agreed rows",
        "_history.py",
        'return row["n_agreed"], row["mean_agreement"]',
        'return row["mean_agreement"], row["n_agreed"]',
        "test_history.py",
    ),
    Mutation(
        "head refresh",
        "heads of the rounds are trained on, not new ones",
        "_rounds.py",
        "    ensemble.reset_heads(progress.n_clusters)\n    latents = ensemble.encode(X)\n",
        "    latents = ensemble.encode(X)\n",
        "test_rounds.py",
    ),
    Mutation(
        "head refresh",
        "new heads in every round, not in the first alone",
        "_rounds.py",
        "    if stage == 1:\n",
        "    if stage:\n",
        "test_rounds.py",
    ),
    Mutation(
        "seed derivation",
        "what a seed is for does not matter beyond the first step",
        "_seeding.py",
        "spawn_key=path)",
        "spawn_key=path[:1])",
        "test_seeding.py",
    ),
    Mutation(
        "seed derivation",
        "all spaces of a round are labelled with one seed",
        "_rounds.py",
        "{i: derive_seed(seed, i) for i in spaces}",
        "{i: seed for i in spaces}",
        "test_rounds.py",
    ),
    Mutation(
        "restore",
        "the encoders of the last round are kept",
        "_rounds.py",
        "    ensemble.restore(progress.best_encoders)\n",
        "",
        "test_rounds.py",
    ),
    Mutation(
        "restore",
        "the last round's consensus is the result",
        "_rounds.py",
        "    consensus = progress.best\n",
        "    consensus = progress.consensus\n",
        "test_rounds.py",
    ),
]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="write the table into tests/README.md")
    report = parser.parse_args(arguments).report
    caught = {mutation: first_failing_test(mutation) for mutation in MUTATIONS}
    table = make_table(caught)
    print(table)
    if report:
        replace_between_markers(ROOT / "tests" / "README.md", table)
    return 0 if all(caught.values()) else 1


def first_failing_test(mutation):
    """Run the tests on a copy of the package with the mutation: the first one that fails, or None."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(folder) / name)
        path = Path(folder) / "skspc" / mutation.file
        path.write_text(mutate(path.read_text(encoding="utf-8"), mutation), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/{mutation.tests}"]
        environment = {**os.environ, "PYTHONPATH": folder}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if run.returncode not in (0, 1):  # of pytest: all passed, or one failed
        raise RuntimeError(f"{mutation.decision}: the tests could not be run.\n{run.stdout}{run.stderr}")
    return read_failure(run.stdout)


def mutate(source, mutation):
    """Put the mutation into a source text."""
    if source.count(mutation.old) != 1:
        raise ValueError(f"{mutation.file} has {mutation.old!r} {source.count(mutation.old)} times; it must once.")
    return source.replace(mutation.old, mutation.new)


def read_failure(output):
    """Name of the test that pytest's summary calls failed, without its parameters; None if there is none."""
    found = re.search(r"^FAILED tests/([^\s\[]+)", output, flags=re.MULTILINE)
    return found and found[1]


def make_table(caught):
    """Table of mutations and the test that caught each, in Markdown."""
    lines = [
        {
            "Decision": mutation.decision,
            "Broken how": mutation.broken,
            "Caught by": f"`{test}`" if test else "**nothing**",
        }
        for mutation, test in caught.items()
    ]
    return markdown_table(list(lines[0]), lines)


if __name__ == "__main__":
    sys.exit(main())
