"""The page of cases: how it is made of a run of the tests, and that it lacks none of them."""

import ast
from collections import Counter
from pathlib import Path

import pytest
import reliability
from reliability import describe, read_dependencies, read_report, render, result

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one[1]"><properties><property name="kind" value="small data"/>
<property name="inputs" value="2 rows"/><property name="origin" value="umap#1"/></properties></testcase>
<testcase classname="tests.test_a" name="test_one[2]"><properties><property name="kind" value="small data"/>
<property name="inputs" value="2 rows"/><property name="origin" value="umap#1"/></properties><skipped/></testcase>
<testcase classname="tests.test_b" name="test_two"><properties><property name="kind" value="plumbing"/>
<property name="inputs" value="a pipeline"/><property name="origin" value=""/></properties><failure/></testcase>
<testcase classname="tests.test_b" name="test_no_case"><error/></testcase>
<testcase classname="tests.test_b" name="test_no_case_either"/>
</testsuite></testsuites>"""


def test_a_report_is_read_with_parametrisations_put_together():
    cases, outcomes = read_report(JUNIT)
    assert cases == {
        ("small data", "2 rows", "umap#1", "test_a.py::test_one"): Counter(passed=1, skipped=1),
        ("plumbing", "a pipeline", "", "test_b.py::test_two"): Counter(failed=1),
    }
    assert outcomes == Counter(passed=2, skipped=1, failed=2)


def test_the_page_has_a_row_for_each_case():
    cases, outcomes = read_report(JUNIT)
    package = {"requirement": "numpy>=1", "extras": ["", "plot"], "version": "2.0", "licence": "BSD"}
    text = render(cases, outcomes, [package])
    assert "The whole run: 2 passed, 1 skipped, 2 failed. Python 3." in text
    assert "| small data | 2 rows | umap#1 | 1 passed, 1 skipped | `test_a.py::test_one` |" in text
    assert "| plumbing | a pipeline | - | failed | `test_b.py::test_two` |" in text
    assert "| `numpy>=1` | all, `[plot]` | 2.0 | BSD |" in text


def test_one_result_has_no_number():
    assert result(Counter(passed=1)) == "passed"
    assert result(Counter(passed=3)) == "3 passed"


def test_dependencies_are_those_of_setup_cfg():
    found = {each["requirement"]: each for each in read_dependencies(ROOT / "setup.cfg")}
    assert found["numpy>=1.24"]["extras"] == [""]
    assert "BSD" in found["numpy>=1.24"]["licence"]
    assert found["matplotlib>=3.7"]["extras"] == ["plot", "docs", "test"]


def test_a_package_that_is_not_installed_is_named_so():
    assert describe("no-such-package-anywhere") == {"version": "not installed", "licence": "-"}


def test_the_command_writes_the_page_and_tells_of_failures(tmp_path, monkeypatch, capsys):
    page, junit = tmp_path / "page.md", tmp_path / "report.xml"
    page.write_text("before\n<!-- results -->\n<!-- /results -->\nafter\n")
    junit.write_text(JUNIT)
    monkeypatch.setattr(reliability, "PAGE", page)
    monkeypatch.setattr(reliability, "ROOT", tmp_path)
    monkeypatch.setattr(reliability, "read_dependencies", lambda path: read_dependencies(ROOT / "setup.cfg"))
    assert reliability.main([str(junit), "--report"]) == 1
    assert "`test_b.py::test_two`" in page.read_text()
    assert "## Direct dependencies" in capsys.readouterr().out


def marked_tests(path):
    """Tests of a file with the mark `case`."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return [
        function.name
        for function in functions
        if any(ast.unparse(decorator).startswith("pytest.mark.case(") for decorator in function.decorator_list)
    ]


@pytest.mark.parametrize("path", sorted(ROOT.glob("tests/test_*.py")), ids=lambda path: path.stem)
def test_every_case_is_on_the_page(path):
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in marked_tests(path) if f"`{path.name}::{name}`" not in page]
    assert missing == [], "run checks/reliability.py"
