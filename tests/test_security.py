"""Nothing in the package runs what a file says."""

import ast

import pytest
from test_layers import all_imports, read_package, top_level_names

RUNS_CODE = {"eval", "exec", "compile", "__import__"}
SOURCES = read_package()


def called_names(source):
    """Names called as functions, and attributes called, with what they are attributes of: {"eval", "torch.load"}."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {ast.unparse(call) for call in calls if isinstance(call, (ast.Name, ast.Attribute))}


@pytest.mark.case("model files", "calls of pickle, eval, exec and torch.load in the source")
@pytest.mark.parametrize("name", sorted(SOURCES))
def test_no_module_runs_what_it_reads(name):
    source = SOURCES[name]
    assert called_names(source).isdisjoint(RUNS_CODE | {"torch.load", "torch.jit.load", "joblib.load"})
    imports = [node for node in all_imports(source) if ast.unparse(node) != "from pickle import PicklingError"]
    imported = top_level_names(imports)  # that one is an exception, and runs nothing
    assert imported.isdisjoint({"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "skops"})
    assert "allow_pickle=True" not in source


def test_what_runs_code_is_seen():
    assert called_names("x = torch.load(f)\neval('1')\na.eval()") == {"torch.load", "eval", "a.eval"}
