"""Work side by side in threads: results, order, and what happens when one fails."""

import threading

import pytest
import torch

from skspc._runtime.jobs import map_side_by_side, run_side_by_side


@pytest.fixture(params=[1, 2, 8])
def n_workers(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def count_to(end, log=None, name=None):
    for number in range(end):
        if log is not None:
            log.append((name, number))
        yield
    return 10 * end


def test_what_generators_return_comes_back_in_their_order(n_workers):
    assert run_side_by_side([count_to(end) for end in (3, 0, 5, 1, 2)], 1) == [30, 0, 50, 10, 20]
    assert run_side_by_side([], 1) == []


def test_a_function_of_many_items(n_workers):
    assert map_side_by_side(lambda item: item**2, range(20), 1) == [item**2 for item in range(20)]


def test_one_worker_advances_the_one_furthest_behind():
    log = []
    run_side_by_side([count_to(2, log, "a"), count_to(2, log, "b")], 1)  # the suite has one thread
    assert log == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_two_workers_work_at_once():
    torch.set_num_threads(2)
    meeting = threading.Barrier(2)

    def meet():
        meeting.wait(timeout=30)
        yield

    try:
        assert run_side_by_side([meet(), meet()], 1) == [None, None]
    finally:
        torch.set_num_threads(1)


def test_no_generator_is_advanced_by_two_workers(n_workers):
    log = []
    run_side_by_side([count_to(50, log, name) for name in range(5)], 1)
    for name in range(5):
        assert [number for who, number in log if who == name] == list(range(50))


def test_an_error_stops_the_others_and_is_raised(n_workers):
    steps = []

    def fail():
        yield
        raise KeyError("training")

    def endless():
        while True:
            steps.append(1)
            yield

    threads = threading.active_count()
    with pytest.raises(KeyError, match="training"):
        run_side_by_side([endless(), fail()], 1)
    assert threading.active_count() == threads
    assert torch.get_num_threads() == n_workers
