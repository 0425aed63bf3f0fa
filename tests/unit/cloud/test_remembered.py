"""What was seen a moment ago is remembered for that moment."""

from __future__ import annotations

from leasehold.cloud.openstack.remembered import SECONDS, Remembered


def test_what_was_seen_is_remembered_for_a_while() -> None:
    now = [100.0]
    seen: Remembered[int] = Remembered(lambda: now[0])
    assert seen.see("a", 1) == 1
    now[0] += SECONDS / 2
    seen.see("b", 2)
    assert (seen.get("a"), seen.get("b"), seen.get("c")) == (1, 2, None)
    now[0] += SECONDS / 2
    assert (seen.get("a"), seen.get("b")) == (None, 2)


def test_what_is_forgotten_or_is_not_there_any_longer_is_not_remembered() -> None:
    seen: Remembered[int] = Remembered()
    seen.see("a", 1)
    seen.see("b", 2)
    seen.forget("a")
    seen.forget("nothing")
    assert (seen.get("a"), seen.get("b")) == (None, 2)
    seen.only({"c": 3})
    assert (seen.get("b"), seen.get("c")) == (None, 3)
