"""A piece of the simulated month: nobody's lease starts late because of another one, and every audit is empty.

The whole month is `make bench only=month`. To look into a failure: `python -m bench.simulation`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from bench.deployment import HOST
from bench.month import compared, rows_of
from bench.simulation.endings import AS_PROMISED, ENDINGS
from bench.simulation.hosts import TROUBLES
from bench.simulation.lateness import FAILED_TRY, GAVE_UP, GRANTED_AFTER_WAITING, STARTED
from bench.simulation.parts import ASLEEP, LENT
from bench.simulation.people import GRANTED, KEPT, REFUSED
from bench.simulation.plan import CLAIM, FLEXIBLE, HOUR, WAYS, Wish
from bench.simulation.simulation import A_SHARED_ONE_TO, Simulation, simulate
from bench.simulation.site import SETTINGS, open_site
from bench.simulation.source import generated
from bench.simulation.utilisation import SAMPLES, SHARED, STATES
from leasehold.conf.settings import LeaseSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.simulation.simulation import Report

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEED = 6
HOSTS = 24
HOURS = 30
PIECE = generated(seed=SEED, jobs=200, hosts=HOSTS, days=HOURS / 24)
ONE = {**HOST, "min": 1, "max": 1}


def no_lease_starts_late_and_no_audit_finds_anything(report: Report) -> None:
    """Nor does the report of usage differ from what was counted by hand."""
    assert report.problems == [], f"seed {SEED}"
    assert report.audits == HOURS


def all_types_of_leases_start_wait_and_are_refused(report: Report) -> None:
    started = {way for (way, what), count in report.watch.counts.items() if what == STARTED and count}
    assert started >= set(WAYS), report.watch.counts
    answers, counts = report.people.answers, report.watch.counts
    for way in ("retry", "waitlist"):
        assert min(answers[way, GRANTED], answers[way, KEPT]) >= 5, answers
        assert counts[way, GRANTED_AFTER_WAITING], counts
        assert counts[way, FAILED_TRY] >= 10, counts
    assert counts["retry", GAVE_UP], counts
    for way in ("scheduled", "immediate"):
        assert answers[way, REFUSED], answers
    waited = sum(counts[way, GRANTED_AFTER_WAITING] for way in WAYS)
    assert len(report.watch.waited) == waited


def people_and_hosts_do_all_that_they_may_do(report: Report) -> None:
    done = {name for name, answer in report.people.answers if answer == "done"}
    assert done >= {each.name for each in ENDINGS if each.share > 10 and each.name != "as promised"}, done
    assert done & {each.name for each in ENDINGS if each.ahead}, done
    assert report.people.booted["ACTIVE"] >= 70, report.people.booted
    assert report.hosts.happened.keys() <= {*TROUBLES, *(f"{name}, refused" for name in TROUBLES)}
    assert report.hosts.happened["host failed"], report.hosts.happened
    assert report.news["lease.healed"], report.news


def hosts_are_drawn_for_leases_that_wait_and_given_back(report: Report) -> None:
    assert min(report.news["resource.drawn"], report.news["resource.given_back"]) >= 5, report.news
    assert report.others.booted["web: ACTIVE"] >= 10, report.others.booted
    assert report.utilisation.mean(SHARED) > 0


def preemptible_servers_are_told_and_ended_for_leases(report: Report) -> None:
    assert report.others.booted["spot: ACTIVE"] >= 10, report.others.booted
    assert report.news["server.ends_soon"] >= 3, report.news


def what_nobody_uses_is_released(report: Report) -> None:
    assert report.news["lease.no_show_warned"] >= report.news["lease.no_show_released"] >= 3, report.news


def each_host_is_in_one_state_at_a_time(report: Report) -> None:
    samples = report.utilisation.samples
    assert len(samples) == HOURS * SAMPLES
    assert {sum(each[state] for state in STATES) for each in samples} == {HOSTS + HOSTS // A_SHARED_ONE_TO}
    assert sum(report.utilisation.mean(state) for state in STATES) == pytest.approx(1)
    assert len(report.utilisation.hourly("used")) == HOURS


def the_figures_say_what_was_seen(report: Report) -> None:
    rows = {row.name: row for row in rows_of(report)}
    assert rows["month: leases that started late"].verdict == "kept"
    assert rows[f"month: findings of {HOURS} hourly audits"].verdict == "kept"
    assert rows["month: host failed"].measured == report.hosts.happened["host failed"]
    assert rows["month: hosts used, on average"].course is not None


CHECKS: tuple[Callable[[Report], None], ...] = (
    no_lease_starts_late_and_no_audit_finds_anything,
    all_types_of_leases_start_wait_and_are_refused,
    people_and_hosts_do_all_that_they_may_do,
    hosts_are_drawn_for_leases_that_wait_and_given_back,
    preemptible_servers_are_told_and_ended_for_leases,
    what_nobody_uses_is_released,
    each_host_is_in_one_state_at_a_time,
    the_figures_say_what_was_seen,
)


def test_a_piece_of_the_month(subtests: pytest.Subtests) -> None:
    """One test, because each worker that ran a part of it would simulate the piece anew."""
    report = simulate(PIECE, SEED, timedelta(hours=HOURS), by_hand=True)
    for check in CHECKS:
        with subtests.test(check.__name__):
            check(report)


def test_no_lease_starts_late_because_hosts_sleep() -> None:
    report = simulate(PIECE, SEED, timedelta(hours=HOURS / 2), ASLEEP.with_spares(2))
    assert report.problems == [], f"seed {SEED}"
    rows = {row.name: row.measured for row in rows_of(report, "month-asleep")}
    assert rows["month-asleep: late starts of sleeping hosts"] == 0
    slept = report.utilisation.mean("asleep") * len(report.utilisation.site.hosts) * HOURS / 2
    assert 0 < rows["month-asleep: host hours off"] < slept
    assert rows["month-asleep: wakes of each host and day"] > 0.1


def test_fillers_and_claims_use_what_is_idle_and_delay_no_lease() -> None:
    report = simulate(PIECE, SEED, timedelta(hours=HOURS / 2), replace(LENT, lending=1.0).with_spares(2), by_hand=True)
    assert report.problems == [], f"seed {SEED}"
    rows = {row.name: row for row in rows_of(report, "month-filled")}
    for what in (
        "leases that started late",
        "leases that fillers delayed",
        "hosts that fillers did not leave in time",
        "hosts that left fillers without the notice",
    ):
        assert rows[f"month-filled: {what}"].verdict == "kept", rows[f"month-filled: {what}"]
    used, filled = (report.utilisation.mean(state) for state in ("used", "used by fillers"))
    assert filled > 0.1 * used > 0
    assert report.fillers.booted.keys() == {"ACTIVE"}
    assert report.fillers.reasons["A lease needs its host."], report.fillers.reasons
    assert report.people.answers[FLEXIBLE, GRANTED] >= 5, report.people.answers
    assert report.watch.counts[FLEXIBLE, STARTED], report.watch.counts
    assert report.people.answers[CLAIM, GRANTED] == report.watch.counts[CLAIM, STARTED] >= 1, report.people.answers
    before = [replace(row, name=row.name.replace("-filled", "")) for row in rows.values()]
    (gain,) = compared([*before, *rows.values()])
    assert (gain.measured, gain.verdict) == (100, "MISSED")


def test_the_same_people_ask_for_the_same_in_all_parts_but_for_those_who_are_flexible() -> None:
    usual, loose = list(PIECE.wishes(SEED)), list(PIECE.wishes(SEED, LENT.loose))
    changed = [(one, other) for one, other in zip(usual, loose, strict=True) if one != other]
    assert {other.way for _, other in changed} == {FLEXIBLE}
    same = ("job", "user", "moment", "length", "ran", "reservation", "ending", "lead", "comes", "stay")
    assert all(getattr(one, name) == getattr(other, name) for one, other in changed for name in same)
    may_be = [one for one in usual if one.way in {"scheduled", "retry", "waitlist"}]
    assert 0.3 < len(changed) / len(may_be) < 0.5


def test_a_lease_that_waits_for_the_servers_of_another_is_seen_as_late() -> None:
    hasty = replace(SETTINGS, leases=LeaseSettings(cleaning_time=timedelta(0)))
    first = Wish(1, 1, "scheduled", 0, 2 * HOUR, HOUR, ONE, AS_PROMISED, lead=HOUR)
    second = replace(first, job=2, moment=60, lead=first.length + HOUR - 60)
    with open_site(1, settings=hasty) as site:
        site.agenda.at(site.now() + timedelta(hours=2.5), lambda: site.world.cloud.servers.take_to("delete", 300))
        report = Simulation(site, [first, second], timedelta(hours=4), SEED).run()
    (late,) = report.watch.late
    assert (late.name, late.by >= timedelta(minutes=4)) == ("job-2", True)
    assert "previous lease to leave" in str(late)
    assert report.problems == [str(late)]


def test_a_best_effort_lease_has_a_host_drawn_and_gives_it_back_with_its_server() -> None:
    first = Wish(1, 1, "immediate", 0, 2 * HOUR, HOUR, ONE, AS_PROMISED)
    asked = {**ONE, "on_end": "give_back"}
    fields = {"type": "best_effort"}
    second = Wish(2, 2, "best_effort", 60, HOUR, HOUR, asked, AS_PROMISED, fields=fields, stay=HOUR)
    with open_site(1, shared=2) as site:
        report = Simulation(site, [first, second], timedelta(hours=4), SEED).run()
    assert report.problems == []
    counts = {what: count for (way, what), count in report.watch.counts.items() if way == "best_effort"}
    assert counts[GRANTED_AFTER_WAITING] == counts[STARTED] == 1, counts
    assert report.people.booted == {"ACTIVE": 2}
    assert min(report.news["resource.drawn"], report.news["resource.given_back"]) >= 1, report.news


def test_the_same_seed_gives_the_same_course() -> None:
    source = generated(seed=3, jobs=20, hosts=4, days=0.1)
    one, other = (simulate(source, 3, timedelta(hours=3)) for _ in range(2))
    assert one.people.answers == other.people.answers
    assert one.watch.counts == other.watch.counts
    assert one.utilisation.samples == other.utilisation.samples
