"""The mutations of benchmarks/mutations.py fit the source as it is. To run them all takes minutes; one is run here."""

from pathlib import Path

import mutations
import pytest
from mutations import MUTATIONS, Mutation, first_failing_test, make_table, mutate, read_failure

ROOT = Path(__file__).parents[1]
TEN = {
    *("alignment", "tie rule", "noise rule", "mask of agreed rows", "loss branch"),
    *("stop rule", "best round", "head refresh", "seed derivation", "restore"),
}


def test_every_decision_of_the_core_is_broken():
    assert {mutation.decision for mutation in MUTATIONS} == TEN


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.decision}: {mutation.broken}")
def test_a_mutation_fits_the_source_and_is_listed_with_its_test(mutation):
    source = (ROOT / "skspc" / mutation.file).read_text(encoding="utf-8")
    mutated = mutate(source, mutation)
    assert mutated != source
    compile(mutated, mutation.file, "exec")
    listed = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    (line,) = [line for line in listed.splitlines() if f"| {mutation.broken} |" in line]
    file, _, test = line.split("`")[1].partition("::")
    assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_a_mutation_that_fits_nowhere_is_told():
    with pytest.raises(ValueError, match=r"_x.py has 'lost' 0 times; it must once"):
        mutate("found", Mutation("a", "b", "_x.py", "lost", "", "test_x.py"))


def test_the_failing_test_is_read_without_its_parameters():
    assert read_failure("F\nFAILED tests/test_x.py::test_a[1-b] - AssertionError\n1 failed") == "test_x.py::test_a"
    assert read_failure("1 passed") is None


def test_a_mutation_is_caught_and_none_is_not():
    stop_rule = next(mutation for mutation in MUTATIONS if mutation.decision == "stop rule")
    caught = first_failing_test(stop_rule)
    assert caught == "test_history.py::test_growth_has_stopped_after_so_many_rows_without_better"
    harmless = Mutation(
        "none", "a comment", "_history.py", "return len(history)", "# \n    return len(history)", "test_history.py"
    )
    assert first_failing_test(harmless) is None
    table = make_table({stop_rule: caught, harmless: None}).splitlines()
    assert table[2] == f"| stop rule | one round more of patience | `{caught}` |"
    assert table[3].endswith("| **nothing** |")


def test_a_mutation_that_nothing_catches_shows_in_the_exit_status(monkeypatch, capsys):
    monkeypatch.setattr(mutations, "first_failing_test", lambda mutation: None)
    assert mutations.main([]) == 1
    assert "**nothing**" in capsys.readouterr().out
