"""scikit-learn's own checks, all of them, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skspc import SPCClustering

QUICK = {"n_estimators": 2, "max_iter": 1, "pretrain_epochs": 10, "epochs": 3}


@parametrize_with_checks([SPCClustering(clusterer=name, **QUICK) for name in ("hdbscan", "gmm")])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("clusterer", ["hdbscan", "gmm"])
def test_check_estimator_expects_no_failures(clusterer):
    smallest = SPCClustering(clusterer=clusterer, **{**QUICK, "n_estimators": 1, "max_iter": 0})
    results = check_estimator(smallest, expected_failed_checks={})
    assert {result["status"] for result in results} <= {"passed", "skipped"}
