"""The mutations of checks/mutations.py name functions that exist. To run them all takes minutes; one is run here."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import mutations
import pytest
from mutations import MUTATIONS, Mutation, first_failing_test, make_table, mutate, read_failure

ROOT = Path(__file__).parents[1]
DECISIONS = {
    *("alignment", "tie rule", "noise rule", "mask of agreed rows", "loss branch"),
    *("stop rule", "best round", "rounds that harm", "k-means beside the cut"),
    *("head refresh", "seed derivation", "restore"),
}
SOURCE = '''
class Shop:
    @property
    def price(self):
        """In cents."""
        return 100

    def bill(self, n):
        return n * self.price


def total(shops):
    return sum(shop.price for shop in shops)
'''


def broken(name, function):
    return Mutation("price", "too dear", "_shop.py", name, function, "test_shop.py")


def test_every_decision_of_the_core_is_broken():
    assert {mutation.decision for mutation in MUTATIONS} == DECISIONS


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.decision}: {mutation.broken}")
def test_a_mutation_names_a_function_that_exists_and_is_listed_with_its_test(mutation):
    source = (ROOT / "skspc" / mutation.file).read_text(encoding="utf-8")
    mutated = mutate(source, mutation)  # raises without such a function, or where the broken one is no other
    compile(mutated, mutation.file, "exec")
    listed = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    (line,) = [line for line in listed.splitlines() if f"| {mutation.broken} |" in line]
    file, _, test = line.split("`")[1].partition("::")
    assert file == mutation.tests
    assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def run_source(source):
    namespace: dict = {}
    exec(source, namespace)
    return SimpleNamespace(**namespace)


def test_the_broken_function_stands_in_the_place_of_the_real_one_and_can_call_it():
    dearer = broken("Shop.price", "@property\ndef price(self):\n    return self.price_real + 1")
    of_two = broken("total", "def total(shops):\n    return 2 * total_real(shops)")
    mutated = run_source(mutate(mutate(SOURCE, dearer), of_two))
    assert mutated.Shop().bill(2) == 202
    assert mutated.total([mutated.Shop()]) == 202
    assert run_source(SOURCE).total([run_source(SOURCE).Shop()]) == 100


@pytest.mark.parametrize("name", ["sum", "Shop.total", "Store.price"])
def test_a_function_that_is_gone_is_told(name):
    with pytest.raises(LookupError, match=rf"skspc/_shop.py has no function {name}. Where has it gone?"):
        mutate(SOURCE, broken(name, "def price(self): pass"))


def test_a_mutation_that_breaks_nothing_is_told():
    same = broken("Shop.bill", "def bill(self, n):\n    '''Of n.'''\n    return n * self.price")
    with pytest.raises(ValueError, match="too dear: the function given is not Shop.bill, broken"):
        mutate(SOURCE, same)
    with pytest.raises(ValueError, match="the function given is not total, broken"):
        mutate(SOURCE, replace(same, name="total"))


def test_the_failing_test_is_read_without_its_parameters():
    assert read_failure("F\nFAILED tests/test_x.py::test_a[1-b] - AssertionError\n1 failed") == "test_x.py::test_a"
    assert read_failure("1 passed") is None


def test_a_mutation_is_caught_and_none_is_not():
    stop_rule = next(mutation for mutation in MUTATIONS if mutation.decision == "stop rule")
    caught = first_failing_test(stop_rule)
    assert caught == "test_history.py::test_labels_have_settled_after_so_many_rounds_without_change"
    harmless = replace(stop_rule, function=stop_rule.function.replace("n_iter_no_change + 1", "1 * n_iter_no_change"))
    assert first_failing_test(harmless) is None
    table = make_table({stop_rule: caught, harmless: None}).splitlines()
    assert table[2] == f"| stop rule | one round more of patience | `{caught}` |"
    assert table[3].endswith("| **nothing** |")


def test_a_broken_function_that_fits_its_callers_no_more_is_told(monkeypatch):
    error = "E   NameError: name 'patience' is not defined"
    monkeypatch.setattr(mutations, "run_tests", lambda folder, tests: f"{error}\nFAILED tests/{tests}::test_a")
    with pytest.raises(RuntimeError, match=f"the broken match_labels does not fit its callers. {error}"):
        first_failing_test(MUTATIONS[0])


def test_tests_that_fail_without_a_mutation_are_told(monkeypatch):
    monkeypatch.setattr(mutations, "run_tests", lambda folder, tests: f"FAILED tests/{tests}::test_a - Error")
    with pytest.raises(RuntimeError, match="test_x.py::test_a fails on the package as it is. Mend it first."):
        mutations.check_unbroken("test_x.py")


def test_a_mutation_that_nothing_catches_shows_in_the_exit_status(monkeypatch, capsys):
    monkeypatch.setattr(mutations, "check_unbroken", lambda tests: None)
    monkeypatch.setattr(mutations, "first_failing_test", lambda mutation: None)
    assert mutations.main([]) == 1
    assert "**nothing**" in capsys.readouterr().out
