"""Break each decision of the core in a copy of the package, and see which test fails.

    python checks/mutations.py            # prints the table
    python checks/mutations.py --report   # and writes it into tests/README.md

A mutation names a function and has another one to stand in its place. The tests of its module are run on the package as
it is, where they must pass, and on a copy with the mutation. One that no test catches makes the exit status 1.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

from pages import markdown_table, replace_between_markers

ROOT = Path(__file__).parents[1]
COPIED = ["skspc", "tests", "pyproject.toml"]
REAL = "_real"
# What a test sees of a broken function that fits its callers no more: no decision was put to the test.
MISFITS = ("NameError", "UnboundLocalError", "AttributeError", "ImportError", "TypeError")


@dataclass(frozen=True)
class Mutation:
    """One decision, broken.

    Attributes
    ----------
    decision, broken : str
        What is decided, and how it is decided wrongly.
    file, name : str
        A file of skspc, and a function of it: "f", or "Class.f" for a method.
    function : str
        Source of the function that stands in its place. It can call the real one, which keeps its name with "_real"
        behind it: what a mutation does not have to say, it does not copy.
    tests : str
        The test file that ought to notice.
    """

    decision: str
    broken: str
    file: str
    name: str
    function: str
    tests: str


MUTATIONS = [
    Mutation(
        "alignment",
        "the matching with the fewest rows in common",
        "_method/consensus.py",
        "match_labels",
        """
        def match_labels(labels, reference, n_clusters):
            counts = contingency(labels, reference, n_clusters)
            rows, mapping = linear_sum_assignment(counts)
            return mapping, int(counts[rows, mapping].sum())
        """,
        "test_consensus.py",
    ),
    Mutation(
        "tie rule",
        "ties go to the smallest label, whatever the reference says",
        "_method/consensus.py",
        "vote",
        """
        def vote(aligned, reference, n_clusters):
            counts = np.stack([(aligned == label).sum(axis=0) for label in range(n_clusters)], axis=1)
            labels = np.where(counts.max(axis=1) == 0, NOISE, counts.argmax(axis=1))
            labels = _refill_emptied(labels, aligned[reference], n_clusters)
            return labels, np.where(labels == NOISE, 0, counts[np.arange(len(labels)), labels])
        """,
        "test_consensus.py",
    ),
    Mutation(
        "noise rule",
        "noise abstains instead of counting against",
        "_method/consensus.py",
        "Consensus.agreement",
        """
        @property
        def agreement(self):
            return self.votes / np.maximum((self.aligned != NOISE).sum(axis=0), 1)
        """,
        "test_consensus.py",
    ),
    Mutation(
        "noise rule",
        "rows without any vote are agreed where nothing is asked for",
        "_method/consensus.py",
        "select_agreed",
        """
        def select_agreed(votes, n_labellings, min_agreement):
            return votes >= min_agreement * n_labellings - 1e-9
        """,
        "test_consensus.py",
    ),
    Mutation(
        "mask of agreed rows",
        "all rows train on their pseudo-label",
        "_method/pseudo_labels.py",
        "pseudo_labels",
        """
        def pseudo_labels(consensus, spaces, n_members, settings):
            targets, _ = pseudo_labels_real(consensus, spaces, n_members, settings)
            return targets, targets != NOISE
        """,
        "test_rounds.py",
    ),
    Mutation(
        "mask of agreed rows",
        "the cross-entropy of rows that are not selected counts",
        "_method/objectives.py",
        "PseudoLabels.losses",
        """
        def losses(self, networks, x, c, a, r=None):
            return self.losses_real(networks, x, c, torch.ones_like(a), r)
        """,
        "test_ensemble.py",
    ),
    Mutation(
        "loss branch",
        '"unagreed" reconstructs the agreed rows',
        "_method/pseudo_labels.py",
        "reconstructed_rows",
        """
        def reconstructed_rows(selected, reconstruction):
            return selected if reconstruction == "unagreed" else reconstructed_rows_real(selected, reconstruction)
        """,
        "test_ensemble.py",
    ),
    Mutation(
        "loss branch",
        '"none" reconstructs all the same',
        "_method/pseudo_labels.py",
        "reconstructed_rows",
        """
        def reconstructed_rows(selected, reconstruction):
            return reconstructed_rows_real(selected, "all" if reconstruction == "none" else reconstruction)
        """,
        "test_ensemble.py",
    ),
    Mutation(
        "loss branch",
        "what an augmentation changes in place is reconstructed as changed",
        "_ensemble/group.py",
        "Networks._augmented",
        """
        def _augmented(self, x):
            if self.group.augmentation is None:
                return x
            return torch.stack([self._augment(batch, of) for batch, of in zip(x, self.generators, strict=True)])
        """,
        "test_augmentations.py",
    ),
    Mutation(
        "loss branch",
        "pretraining reconstructs the augmented rows",
        "_method/objectives.py",
        "Reconstruction.losses",
        """
        def losses(self, networks, x):
            return {"reconstruction": l1_distance(networks.g(networks.f(x)), networks._augmented(x)).mean(dim=1)}
        """,
        "test_augmentations.py",
    ),
    Mutation(
        "loss branch",
        "rounds reconstruct the augmented rows",
        "_method/objectives.py",
        "PseudoLabels.losses",
        """
        def losses(self, networks, x, c, a, r=None):
            losses = self.losses_real(networks, x, c, a, r)
            if r is not None:
                decoded = networks.g(networks.f(x))
                losses["reconstruction"] = (l1_distance(decoded, networks._augmented(x)) * r).mean(dim=1)
            return losses
        """,
        "test_augmentations.py",
    ),
    Mutation(
        "stop rule",
        "one round more of patience",
        "_method/history.py",
        "has_settled",
        """
        def has_settled(history, n_iter_no_change, tol):
            return has_settled_real(history, n_iter_no_change + 1, tol)
        """,
        "test_history.py",
    ),
    Mutation(
        "stop rule",
        "changes as large as the tolerance are changes",
        "_method/history.py",
        "has_settled",
        """
        def has_settled(history, n_iter_no_change, tol):
            last_new = 0
            for i, row in enumerate(history):
                if row["label_change"] >= tol or growth(history[last_new], row) > tol:
                    last_new = i
            return len(history) - 1 - last_new >= n_iter_no_change
        """,
        "test_history.py",
    ),
    Mutation(
        "best round",
        "the last maximum instead of the first",
        "_method/history.py",
        "best_round",
        """
        def best_round(history):
            return max(range(len(history)), key=lambda i: (progress_statistic(history[i]), i))
        """,
        "test_history.py",
    ),
    Mutation(
        "best round",
        "mean agreement before agreed rows",
        "_method/history.py",
        "progress_statistic",
        """
        def progress_statistic(row):
            return progress_statistic_real(row)[::-1]
        """,
        "test_history.py",
    ),
    Mutation(
        "best round",
        "rounds without a vote may be best",
        "_method/history.py",
        "best_round",
        """
        def best_round(history):
            return best_round_real([row | {"n_labellings": 1} for row in history])
        """,
        "test_history.py",
    ),
    Mutation(
        "rounds that harm",
        "fewer labellings agree less, too",
        "_method/history.py",
        "agree_less",
        """
        def agree_less(history, row):
            return bool(history) and row["mean_agreement"] < history[0]["mean_agreement"] - _BY_CHANCE
        """,
        "test_history.py",
    ),
    Mutation(
        "rounds that harm",
        "judged by the round before, not by what was before any",
        "_method/history.py",
        "agree_less",
        """
        def agree_less(history, row):
            return agree_less_real(history[-1:], row)
        """,
        "test_history.py",
    ),
    Mutation(
        "rounds that harm",
        "they vote all the same",
        "_method/rounds.py",
        "can_be_judged",
        """
        def can_be_judged(labellings, prior):
            return False
        """,
        "test_rounds.py",
    ),
    Mutation(
        "k-means beside the cut",
        "left out wherever its sizes are more even",
        "_method/choice.py",
        "cuts_up",
        """
        def cuts_up(k_means, density):
            return k_means.evenness > density.evenness + _FAR_MORE_EVEN
        """,
        "test_choice.py",
    ),
    Mutation(
        "head refresh",
        "heads of the rounds are trained on, not new ones",
        "_method/rounds.py",
        "_finish",
        """
        def _finish(X, ensemble, progress, settings):
            ensemble.reset_heads = lambda n_clusters: None
            try:
                return _finish_real(X, ensemble, progress, settings)
            finally:
                del ensemble.reset_heads
        """,
        "test_rounds.py",
    ),
    Mutation(
        "head refresh",
        "new heads in every round, not in the first alone",
        "_method/rounds.py",
        "_train",
        """
        def _train(X, ensemble, progress, settings):
            if len(progress.history) > 1:
                ensemble.reset_heads(progress.n_clusters)
            return _train_real(X, ensemble, progress, settings)
        """,
        "test_rounds.py",
    ),
    Mutation(
        "seed derivation",
        "what a seed is for does not matter beyond the first step",
        "_runtime/seeding.py",
        "derive_seed",
        """
        def derive_seed(seed, *path):
            return derive_seed_real(seed, *path[:1])
        """,
        "test_seeding.py",
    ),
    Mutation(
        "seed derivation",
        "all spaces of a round are labelled with one seed",
        "_method/labelling.py",
        "cluster_spaces",
        """
        def cluster_spaces(latents, n_clusters, settings, seed, diverged=()):
            global derive_seed
            derive, derive_seed = derive_seed, lambda seed, space: seed
            try:
                return cluster_spaces_real(latents, n_clusters, settings, seed, diverged)
            finally:
                derive_seed = derive
        """,
        "test_rounds.py",
    ),
    Mutation(
        "restore",
        "the encoders of the last round are kept",
        "_method/rounds.py",
        "_finish",
        """
        def _finish(X, ensemble, progress, settings):
            progress = replace(progress, best_encoders=ensemble.state()["autoencoder"])
            return _finish_real(X, ensemble, progress, settings)
        """,
        "test_rounds.py",
    ),
    Mutation(
        "restore",
        "the last round's consensus is the result",
        "_method/rounds.py",
        "_finish",
        """
        def _finish(X, ensemble, progress, settings):
            return _finish_real(X, ensemble, replace(progress, vote=progress.consensus), settings)
        """,
        "test_rounds.py",
    ),
]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="write the table into tests/README.md")
    report = parser.parse_args(arguments).report
    for tests in dict.fromkeys(mutation.tests for mutation in MUTATIONS):
        check_unbroken(tests)
    caught = {mutation: first_failing_test(mutation) for mutation in MUTATIONS}
    table = make_table(caught)
    print(table)
    if report:
        replace_between_markers(ROOT / "tests" / "README.md", table)
    return 0 if all(caught.values()) else 1


def check_unbroken(tests):
    """Raise a RuntimeError if a test file fails without any mutation: it could tell nothing of one."""
    failing = read_failure(run_tests(ROOT, tests))
    if failing is not None:
        raise RuntimeError(f"{failing} fails on the package as it is. Mend it first.")


def first_failing_test(mutation):
    """Run the tests on a copy of the package with the mutation: the first one that fails, or None."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for copied in COPIED:
            copy = shutil.copytree if (ROOT / copied).is_dir() else shutil.copy
            copy(ROOT / copied, folder / copied)
        path = folder / "skspc" / mutation.file
        path.write_text(mutate(path.read_text(encoding="utf-8"), mutation), encoding="utf-8")
        output = run_tests(folder, mutation.tests)
    misfit = re.search(rf"^E\s+({'|'.join(MISFITS)}): .*", output, flags=re.MULTILINE)
    if misfit:
        raise RuntimeError(f"{mutation.broken}: the broken {mutation.name} does not fit its callers. {misfit[0]}")
    return read_failure(output)


def run_tests(folder, tests):
    """What pytest says of a test file up to its first failure, on the package in a folder."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/{tests}"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if run.returncode not in (0, 1):  # of pytest: all passed, or one failed
        raise RuntimeError(f"tests/{tests} could not be run.\n{run.stdout}{run.stderr}")
    return run.stdout


def mutate(source, mutation):
    """Put the mutation into a source text: the broken function behind the real one, which gets another name."""
    real, broken = find_function(source, mutation), broken_function(mutation)
    if real.name != broken.name or same_code(real, broken):
        raise ValueError(f"{mutation.broken}: the function given is not {mutation.name}, broken.")
    lines = source.splitlines()
    head = real.lineno - 1
    lines[head] = lines[head].replace(f"def {real.name}(", f"def {real.name}{REAL}(", 1)
    added = indent(ast.unparse(broken), " " * real.col_offset).splitlines()
    lines[real.end_lineno : real.end_lineno] = ["", *added, ""]
    return "\n".join([*lines, ""])


def find_function(source, mutation):
    """Syntax tree of the function that a mutation names.

    Raises
    ------
    LookupError
        If the source has no such function.
    """
    node = ast.parse(source)
    for part in mutation.name.split("."):
        inner = [each for each in node.body if isinstance(each, (ast.ClassDef, ast.FunctionDef)) and each.name == part]
        if not inner:
            raise LookupError(f"skspc/{mutation.file} has no function {mutation.name}. Where has it gone?")
        node = inner[-1]
    return node


def broken_function(mutation):
    """Syntax tree of the function that stands in the place of the real one."""
    (function,) = ast.parse(dedent(mutation.function)).body
    return function


def same_code(one, other):
    """Whether two functions are the same but for their docstrings."""
    codes = []
    for function in (one, other):
        body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
        codes.append([ast.dump(node) for node in (function.args, *body)])
    return codes[0] == codes[1]


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
