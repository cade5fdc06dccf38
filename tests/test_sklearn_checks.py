"""scikit-learn's own checks, all of them, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skspc import SPCClustering

SETTINGS = {"n_estimators": 2, "max_iter": 1}


@parametrize_with_checks([SPCClustering(clusterer=name, **SETTINGS) for name in ("hdbscan", "gmm")])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("clusterer", ["hdbscan", "gmm"])
def test_check_estimator_expects_no_failures(clusterer):
    quick = SPCClustering(clusterer=clusterer, pretrain_epochs=20, epochs=5, **SETTINGS)
    results = check_estimator(quick, expected_failed_checks={})
    assert {result["status"] for result in results} <= {"passed", "skipped"}
