"""scikit-learn's own checks, all of them, with no expected failures."""

from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skspc import SPCClustering

QUICK = {"n_estimators": 2, "max_iter": 1, "pretrain_epochs": 10, "epochs": 3}


@parametrize_with_checks([SPCClustering(**QUICK)])
def test_sklearn_checks(estimator, check, few_steps):
    check(estimator)


def test_check_estimator_expects_no_failures(few_steps):
    smallest = SPCClustering(clusterer="gmm", **{**QUICK, "n_estimators": 1, "max_iter": 0})
    results = check_estimator(smallest, expected_failed_checks={})
    assert {result["status"] for result in results} <= {"passed", "skipped"}
