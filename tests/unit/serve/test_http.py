"""Who may ask the page what, by real requests on loopback."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from serving import TOKEN, asked, connected, serving
from trialwise.serve.server import Serving
from trialwise.store.directory import ExperimentDirectory
from trialwise.study.standing import state

MARKUP = re.compile("<(script|img|b)[ >]")


def key_of(page: Serving) -> str:
    return re.findall(r'href="e/([0-9a-f]{12})/"', asked(page, f"/{TOKEN}/")[2])[0]


def parts_of(page: Serving, key: str, names: set[str], since: str = "") -> dict[str, dict[str, object]]:
    """The parts that a stream of events sends first."""
    found: dict[str, dict[str, object]] = {}
    with connected(page) as connection:
        connection.sendall(
            f"GET /{TOKEN}/events?e={key} HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {since}\r\n\r\n".encode()
        )
        text = ""
        while not names <= found.keys():
            text += connection.recv(65536).decode()
            text = re.sub(r"\r\n[0-9a-f]+\r\n", "", text)  # the sizes of chunks
            for identity, data in re.findall(r"id: (\S+)\nevent: part\ndata: (.*)\n\n", text):
                event = json.loads(data)
                found[event["part"]] = {**event, "id": identity}
    return found


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "127.0.0.1:80:80", "localhost:x"],
)
def test_other_names_of_this_machine_are_refused(page: Serving, host: str) -> None:
    status, _, body = asked(page, f"/{TOKEN}/", host=host or " ")
    assert status == 421
    assert TOKEN not in body


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1234", "[::1]:99", "LOCALHOST"])
def test_own_names_are_known_with_any_port_as_tunnels_have(page: Serving, host: str) -> None:
    assert asked(page, f"/{TOKEN}/", host=host)[0] == 200


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/metrics",
        f"/{TOKEN}",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN}x/",
        f"//{TOKEN}/",
        "/%C3%A9/",
        f"/{TOKEN.upper()}/",
    ],
)
def test_without_the_token_there_is_nothing(page: Serving, target: str) -> None:
    status, _, body = asked(page, target)
    assert status == 404
    assert "hostile" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_is_read_only(page: Serving, method: str) -> None:
    status, head, _ = asked(page, f"/{TOKEN}/", method)
    assert (status, "allow: get, head" in head) == (405, True)


@pytest.mark.parametrize("target", ["", "events", "static/serve.js", "none"])
def test_every_answer_has_the_policy_and_is_kept_nowhere(page: Serving, target: str) -> None:
    _, head, body = asked(page, f"/{TOKEN}/{target}", "HEAD")
    assert body == ""
    assert "default-src 'none'; script-src 'self'" in head
    assert "unsafe" not in head
    assert "cache-control: no-store" in head
    assert "access-control" not in head


@pytest.mark.parametrize(
    "target",
    [
        "static/../serve.js",
        "static/..%2f..%2fhtml.py",
        "static/page.html.j2",
        "e/../../etc/",
        "e/%2e%2e/",
        "compare?a=../..&b=x",
    ],
)
def test_nothing_else_can_be_reached(page: Serving, target: str) -> None:
    assert asked(page, f"/{TOKEN}/{target}")[0] == 404


def test_links_are_not_followed_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "ledger.sqlite").symlink_to(folder / "hostile.results" / "ledger.sqlite")
    with serving(tmp_path) as page:
        assert "No experiment has begun here" in asked(page, f"/{TOKEN}/")[2]


def test_names_are_shown_as_text(page: Serving) -> None:
    key = key_of(page)
    found = parts_of(page, key, {"progress", "order", "failures", "intervals", "claims"})
    for part in found.values():
        assert MARKUP.search(str(part["html"])) is None
        assert "\u202e" not in json.dumps(part, ensure_ascii=False)
    assert "&lt;img src=x onerror=alert(1)&gt;" in str(found["progress"]["html"])
    failing = re.findall(r'href="(trial/\d+\?attempt=1)"', str(found["failures"]["html"]))
    assert len(failing) == 6
    status, _, body = asked(page, f"/{TOKEN}/e/{key}/{failing[0]}")
    assert status == 200
    assert "&lt;b&gt;broke&lt;/b&gt;" in body
    assert "alert(2)&lt;/script&gt;" in body
    assert "<script>alert" not in body


def test_a_page_that_comes_back_gets_what_is_newer_alone(page: Serving) -> None:
    key = key_of(page)
    first = parts_of(page, key, {"progress", "order", "failures", "intervals", "claims"})
    by_age = sorted(first.values(), key=lambda part: int(str(part["id"]).partition(".")[2]))
    again = parts_of(page, key, {str(by_age[-1]["part"])}, since=str(by_age[-2]["id"]))
    assert list(again) == [by_age[-1]["part"]]
    other_server = parts_of(page, key, set(first), since="ffffffff.999")
    assert other_server.keys() == first.keys()


def test_metrics_are_those_of_the_ledger(page: Serving, folder: Path) -> None:
    status, head, text = asked(page, "/metrics", Authorization=f"Bearer {TOKEN}")
    assert (status, "content-type: application/openmetrics-text; version=1.0.0" in head) == (200, True)
    samples = {
        (each.name, each.labels.get("status", "")): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }
    told = state(folder / "hostile.results")
    assert samples["trialwise_trials_planned", ""] == told.planned == 18
    assert samples["trialwise_trials_failed", ""] == told.failed == 6
    assert {s: n for (name, s), n in samples.items() if name == "trialwise_attempts"} == told.counts
    assert asked(page, "/metrics", Authorization="Bearer wrong")[0] == 404


def test_nothing_is_written_beside_what_is_read(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "hostile.results"
    shutil.copytree(folder / "hostile.results", place)
    ExperimentDirectory(place).ledger(read_only=False).close()  # as after a run: no log beside the ledger

    def seen() -> dict[str, tuple[int, str]]:
        return {
            path.relative_to(tmp_path).as_posix(): (
                path.stat().st_mtime_ns,
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            )
            for path in (tmp_path, *tmp_path.rglob("*"))
        }

    before = seen()
    with serving(tmp_path) as page:
        key = key_of(page)
        parts_of(page, key, {"progress", "order", "failures", "intervals", "claims"})
        for target in (f"e/{key}/trial/1", f"compare?a={key}&b={key}", "history", "metrics"):
            assert asked(page, f"/{TOKEN}/{target}")[0] == 200
    assert seen() == before


def test_the_dashboard_asks_for_metrics_that_there_are(page: Serving) -> None:
    status, _, dashboard = asked(page, f"/{TOKEN}/static/grafana.json")
    assert status == 200
    asked_for = {
        name
        for panel in json.loads(dashboard)["panels"]
        for target in panel["targets"]
        for name in re.findall(r"trialwise_\w+", target["expr"])
    }
    told = text_string_to_metric_families(asked(page, f"/{TOKEN}/metrics")[2])
    assert asked_for <= {family.name for family in told}
    assert len(asked_for) == 6
