"""The Grafana dashboard: each of its questions has an answer in a Prometheus that reads a running service."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from leasehold.features.audit.job import DONE, FAILED, FINDINGS, MENDED, ROUNDS
from leasehold.features.power.metrics import FAILED as MACHINE_FAILED
from leasehold.features.power.metrics import SWITCHED, show_margins
from leasehold.metrics.cloud import OK, count_call
from leasehold.metrics.event import count_event
from leasehold.metrics.exposition import served
from leasehold.metrics.request import FULL, count_request, count_shed
from leasehold.model.event_log import LeaseNews
from leasehold.model.finding import FindingKind
from tests.operators.metric_names import METRIC, known_metrics
from tests.processes import running, wait_for
from tests.prometheus import prometheus
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Options
    from tests.prometheus import Prometheus

DASHBOARD = json.loads((Path(__file__).parent.parent.parent / "etc" / "grafana" / "leasehold.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel, query) for panel in PANELS for query in panel["targets"]]
SUFFIX = re.compile(r"_bucket$")
LABEL = re.compile(r"{{(\w+)}}")
HEADERS = {"OpenStack-API-Version": "reservation latest"}


def expression(query: dict[str, Any]) -> str:
    """Return what Grafana asks when it shows all types of resources."""
    asked: str = query["expr"].replace("$__rate_interval", "1m").replace("$type", ".*")
    assert "$" not in asked
    return asked


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that reads a service with something to tell, and a process with what a sandbox never has."""
    port = free_port()
    options: Options = {
        "manager": {"metrics_port": port},
        "delivery": {"http": "true", "allowed_networks": "127.0.0.0/8"},
        "usage": {"poll_seconds": 1},
    }
    database = f"sqlite:///{tmp_path_factory.mktemp('dashboard')}/leasehold.db"
    with (
        running("leasehold-standalone", database_url=database, options=options) as service,
        served("127.0.0.1", 0) as other,
        prometheus({"leasehold": port, "leasehold-other": other}) as reader,
    ):
        use(service.url)
        happen_elsewhere()
        yield reader


def use(url: str) -> None:
    """Make a lease, have one refused, and have events sent to nobody."""
    hosts = {
        "resource_type": "physical:host",
        "min": 1,
        "max": 1,
        "hypervisor_properties": "",
        "resource_properties": "",
    }
    wanted = {"name": "one", "start_date": "now", "duration_seconds": 3600, "reservations": [hosts]}
    hook = {"channel": "webhook", "target": f"http://127.0.0.1:{free_port()}/events"}
    for path, body, status in (
        ("/subscriptions", hook, 201),
        ("/leases", wanted, 201),
        ("/leases", {**wanted, "reservations": [{**hosts, "min": 99, "max": 99}]}, 409),
    ):
        answer = requests.post(url + path, json=body, headers=HEADERS, timeout=30)
        assert answer.status_code == status, answer.text


def happen_elsewhere() -> None:
    """Count what happens on a real cloud, in trouble, or after minutes."""
    count_call("nova", OK, 0.1)
    count_request("/v1/leases", "POST", 503, 0.1)
    count_shed(FULL)
    FINDINGS.labels(FindingKind.DRIFT, MENDED).inc()
    for outcome in (DONE, FAILED):
        ROUNDS.labels(outcome).inc()
    SWITCHED.labels("box", "off").inc()
    MACHINE_FAILED.labels("box").inc()
    show_margins({"box": timedelta(minutes=5)})
    for kind in LeaseNews:
        count_event(kind, 0.1)


@pytest.mark.slow
def test_every_panel_shows_something_and_its_legend_names_labels_that_are_there(server: Prometheus) -> None:
    for panel, query in QUERIES:
        asked = expression(query)
        wait_for(lambda asked=asked: server.ask(asked))  # type: ignore[misc] # The types of lambdas are not inferred.
        # Prometheus leaves out a label whose value is empty, so not every series has each.
        labels = set().union(*server.ask(asked))
        assert set(LABEL.findall(query["legendFormat"])) <= labels, f"{panel['title']}: {asked}"


@pytest.mark.slow
def test_the_types_to_choose_from_are_there(server: Prometheus) -> None:
    (query,) = (each["definition"] for each in DASHBOARD["templating"]["list"] if each["name"] == "type")
    matched = re.fullmatch(r"label_values\((\w+), (\w+)\)", query)
    assert matched is not None
    metric, label = matched.groups()
    wait_for(lambda: server.ask(metric))
    assert {series[label] for series in server.ask(metric)} == {"physical:host", "virtual:floatingip"}


def test_every_metric_is_on_the_dashboard() -> None:
    asked = {SUFFIX.sub("", name) for _, query in QUERIES for name in METRIC.findall(query["expr"])}
    assert asked == known_metrics()


def test_the_events_that_are_asked_for_can_happen() -> None:
    """A name that is misspelt beside others that are there would show nothing, and nobody would notice."""
    named = [
        name
        for _, query in QUERIES
        for found in re.findall(r'type=~"(lease[^"]+)"', query["expr"])
        for name in found.split("|")
    ]
    assert len(named) > 5
    assert set(named) <= set(LeaseNews)


def test_units_are_those_of_the_values() -> None:
    for panel, query in QUERIES:
        assert panel["fieldConfig"]["defaults"]["unit"] in units_of(query["expr"]), panel["title"]


def units_of(asked: str) -> set[str]:
    if " / " in asked:
        return {"percentunit"}
    if "_bytes" in asked:
        return {"bytes"}
    if "histogram_quantile(" in asked or asked.endswith("_seconds)"):
        return {"s"}
    return {"ops", "reqps"} if "rate(" in asked else {"short", "none"}


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert all(0 <= x < 24 for x, _ in taken)


def test_panels_say_what_they_show_and_ask_the_data_source_that_is_chosen() -> None:
    for panel, query in QUERIES:
        assert panel["description"].endswith(".")
        assert query["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
