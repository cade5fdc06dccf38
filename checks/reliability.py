"""Write docs/reliability.md from a run of the tests, and the list of dependencies from their own metadata.

pytest --junitxml=report.xml
python checks/reliability.py report.xml            # prints
python checks/reliability.py report.xml --report   # and writes docs/reliability.md
"""

import argparse
import configparser
import re
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from xml.etree import ElementTree

from pages import markdown_table, replace_between_markers, versions

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
OUTCOMES = ("failed", "skipped", "passed")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("junit", type=Path, help="what pytest --junitxml wrote")
    parser.add_argument("--report", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    cases, outcomes = read_report(options.junit.read_text(encoding="utf-8"))
    text = render(cases, outcomes, read_dependencies(ROOT / "setup.cfg"))
    print(text)
    if options.report:
        replace_between_markers(PAGE, text)
    return 1 if outcomes["failed"] else 0


def read_report(junit):
    """Read pytest's report.

    Parameters
    ----------
    junit : str
        XML.

    Returns
    -------
    cases : dict of Counter
        How often each ended how, by (kind, inputs, origin, test): those that are marked as a case.
    outcomes : Counter
        How often all tests together did.
    """
    cases, outcomes = {}, Counter()
    for test in ElementTree.fromstring(junit).iter("testcase"):
        outcome = outcome_of(test)
        outcomes[outcome] += 1
        about = {each.get("name"): each.get("value") for each in test.iter("property")}
        if "kind" in about:
            file = test.get("classname").rpartition(".")[2]
            name = f"{file}.py::{test.get('name').partition('[')[0]}"
            key = (about["kind"], about["inputs"], about["origin"], name)
            cases.setdefault(key, Counter())[outcome] += 1
    return cases, outcomes


def outcome_of(test):
    if test.find("failure") is not None or test.find("error") is not None:
        return "failed"
    return "passed" if test.find("skipped") is None else "skipped"


def read_dependencies(path):
    """Direct dependencies in setup.cfg: dicts of requirement, extra ("" for none), installed version and licence."""
    settings = configparser.ConfigParser()
    settings.read(path, encoding="utf-8")
    groups = {"": settings["options"]["install_requires"], **settings["options.extras_require"]}
    found = {}
    for extra, requirements in groups.items():
        for requirement in requirements.split("\n"):
            name = re.match(r"[\w-]*", requirement)[0]
            if name:
                found.setdefault((name, requirement), {"extras": [], **describe(name)})["extras"].append(extra)
    return [{"requirement": requirement, **about} for (_, requirement), about in found.items()]


def describe(name):
    """Version and licence that an installed package states."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return {"version": "not installed", "licence": "-"}
    classifiers = about.get_all("Classifier") or []
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: OSI Approved ::")]
    stated = about.get("License-Expression") or ", ".join(named) or (about.get("License") or "-").split("\n")[0]
    return {"version": about["Version"], "licence": stated}


def render(cases, outcomes, dependencies):
    """The part of the page between its markers."""
    lines = [
        {
            "Kind": kind,
            "Inputs tried": inputs,
            "From": origin or "-",
            "Result": result(counts),
            "Test": f"`{name}`",
        }
        for (kind, inputs, origin, name), counts in sorted(cases.items())
    ]
    packages = [
        {
            "Requirement": f"`{each['requirement']}`",
            "Needed by": ", ".join(f"`[{extra}]`" if extra else "all" for extra in each["extras"]),
            "Version of this run": each["version"],
            "Licence": each["licence"],
        }
        for each in dependencies
    ]
    run = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in reversed(OUTCOMES) if outcomes[outcome])
    environment = ", ".join(f"{name} {version}" for name, version in versions().items())
    return "\n\n".join(
        [
            "## Cases",
            f"The whole run: {run}. Python {sys.version.split()[0]}, {environment}.",
            markdown_table(list(lines[0]), lines),
            "## Direct dependencies",
            markdown_table(list(packages[0]), packages),
        ]
    )


def result(counts):
    """How a test ended, with the number of its parametrisations where there are several."""
    if sum(counts.values()) == 1:
        return next(iter(counts))
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in reversed(OUTCOMES) if counts[outcome])


if __name__ == "__main__":
    sys.exit(main())
