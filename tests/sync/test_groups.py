"""Commit groups: a FIFO per issuer (PTX ISA, cp.async.commit_group and wait_group)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asyncsim.sync import GroupQueue


def queue_of(*groups: tuple[str, ...]) -> GroupQueue:
    queue = GroupQueue()
    for group in groups:
        for member in group:
            queue.issue(member)
        queue.commit()
    return queue


def test_commit_closes_everything_issued_before_it():
    queue = GroupQueue()
    queue.issue("a")
    queue.issue("b")
    assert queue.commit() == 0
    queue.issue("c")
    assert queue.commit() == 1
    assert queue.pending() == (("a", "b"), ("c",))


def test_wait_group_n_leaves_the_n_most_recent_groups_pending():
    queue = queue_of(("t0",), ("t1",), ("t2",))
    assert queue.covered(1) == (("t0",), ("t1",))
    assert queue.retire(1) == (("t0",), ("t1",))
    assert queue.pending() == (("t2",),)


def test_wait_group_0_waits_for_all_committed_groups():
    queue = queue_of(("a",), ("b",))
    assert queue.retire(0) == (("a",), ("b",))
    assert queue.pending() == ()


def test_wait_group_of_more_than_there_are_waits_for_nothing():
    queue = queue_of(("a",))
    assert queue.retire(3) == ()
    assert queue.pending() == (("a",),)


def test_empty_groups_count_in_n():
    """With an empty commit per step, N keeps its meaning after the last copy."""
    queue = queue_of(("t0",), ("t1",), (), ())
    assert queue.covered(2) == (("t0",), ("t1",))
    assert queue.covered(3) == (("t0",),)


def test_uncommitted_copies_are_not_covered():
    queue = queue_of(("a",))
    queue.issue("b")
    assert queue.retire(0) == (("a",),)
    assert queue.open == ["b"]


def test_indices_go_on_after_groups_have_been_waited_for():
    queue = queue_of(("a",), ("b",))
    queue.retire(0)
    assert queue.commit() == 2


@given(st.lists(st.sampled_from(["issue", "commit", 0, 1, 2, 3]), max_size=40))
def test_groups_retire_in_commit_order_and_none_is_lost(actions):
    queue, issued, retired = GroupQueue(), 0, []
    committed = 0
    for action in actions:
        if action == "issue":
            queue.issue(issued)
            issued += 1
        elif action == "commit":
            assert queue.commit() == committed
            committed += 1
        else:
            before = len(queue.committed)
            retired += queue.retire(action)
            assert len(queue.committed) == min(action, before)
    members = [m for group in (*retired, *queue.pending(), queue.open) for m in group]
    assert members == list(range(issued))
    assert len(retired) == queue.retired
    assert len(retired) + len(queue.committed) == committed
