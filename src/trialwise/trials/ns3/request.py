"""Translate a simulated trial for ns-3, or say why it cannot be the same there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.problems import nearest
from trialwise.experiment.simulation import SimulationTrial

SCHEMES: Mapping[str, str] = {
    "dctcp": "ns3::TcpDctcp",
    "newreno": "ns3::TcpNewReno",
    "cubic": "ns3::TcpCubic",
    "bbr": "ns3::TcpBbr",
}
"""Schemes, and ns-3's classes for them."""
CONTROLLER: Mapping[str, Mapping[str, str]] = {
    "dctcp": {"gain": "ns3::TcpDctcp::DctcpShiftG"},
    "newreno": {},
    "cubic": {"fast_convergence": "ns3::TcpCubic::FastConvergence", "hystart": "ns3::TcpCubic::HyStart"},
    "bbr": {},
}
"""Parameters of controllers besides `initial_window`, and ns-3's attributes for them."""
HEADER = 42
"""Bytes of an ns-3 packet besides its payload: 2 of PPP, 20 of IPv4, 20 of TCP without time stamps."""
MAX_FLOWS = 64_000
"""Maximum number of flows: each has its own port from 1024 on."""
MAX_HOPS = 255
"""Maximum number of links that a packet crosses before its time to live ends."""

_LINE, _BUFFER, _THRESHOLD = 100 * 10**9, 32 << 20, 300_000
"""Rate in bit/s, buffer, and DCTCP threshold: Trialwise's own defaults, scaled in proportion to the rate."""
_INITIAL_WINDOW = 10
_SOCKET_BUFFER = 1 << 26
_MTU = 1500
_KNOWN = ("segment", "header", "acknowledgement", "marking", "kmin", "kmax", "pmax", "buffer", "pfc",
          "minimum_timeout", "stop")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ns3Settings:
    """A trial in ns-3's terms, without its flows; lengths in bytes, times in picoseconds, `stop` 0 for never.

    `threshold` is at the rate of the hosts, 0 for no marks. `window` is the initial one in segments.
    """

    scheme: str
    segment: int
    buffer: int
    threshold: int
    minimum_timeout: int
    window: int
    stop: int
    attributes: Mapping[str, str]


def ns3_settings(trial: SimulationTrial, fabric: _core.Fabric) -> Ns3Settings:
    """Translate a trial with its placeholders filled in.

    Raises
    ------
    PlanError
        ns-3 cannot do something identically; the message says what to change.
    """
    if trial.mode != "clean":
        raise PlanError(f'mode = "{trial.mode}" does not go with engine = "ns3"', hint="leave mode out")
    if trial.scheme not in SCHEMES:
        raise PlanError(f'engine = "ns3" has no scheme "{trial.scheme}": it has {", ".join(SCHEMES)}')
    try:
        return _settings(trial, fabric)
    except ValueError as error:
        raise PlanError(str(error)) from error


def ns3_request(
    settings: Ns3Settings, fabric: _core.Fabric, flows: Mapping[str, np.ndarray], seed: int
) -> dict[str, object]:
    """Return a trial as the input of `driver.py`.

    Raises
    ------
    PlanError
        A flow is invalid, there are too many, or a route is too long.
    """
    links = fabric.links
    if len(flows["src"]) > MAX_FLOWS:
        raise PlanError(
            f'{len(flows["src"])} flows: engine = "ns3" takes {MAX_FLOWS} in a trial',
            hint="shorten the workload's duration or list, and run more trials",
        )
    if "class" in flows and len(np.unique(flows["class"])) > 1:
        raise PlanError(
            'the flow list has several classes, and engine = "ns3" has one queue at each port',
            hint="leave engine out, or give all flows one class",
        )
    routes, replies = _routes(fabric, flows)
    line = _line_rate(fabric)
    apart = max(10**6, 200 * 8 * 10**12 // min(rate for _, _, rate, _ in links))
    columns = (flows[name].tolist() for name in ("src", "dst", "size_bytes", "start_ps"))
    return {
        "nodes": 1 + max(max(first, second) for first, second, *_ in links),
        "links": links,
        "buffers": [settings.buffer] * len(links),
        "thresholds": [settings.threshold * rate // line for _, _, rate, _ in links],
        "flows": list(zip(*columns, strict=True)),
        "hops": routes.shape[1],
        "routes": routes.ravel().tolist(),
        "replies": replies.ravel().tolist(),
        "attributes": settings.attributes,
        "apart": apart,
        "lead": apart * (len(flows["src"]) + 1) + 4 * fabric.round_trip_ps,
        "stop": settings.stop,
        "seed": 1 + seed % 2**32,
    }


def _routes(fabric: _core.Fabric, flows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the ports that data and acknowledgements of each flow cross in our own engine, shape (flows, hops), -1 beyond the end."""
    try:
        routes, replies = fabric.flow_routes(dict(flows))
    except _core.SimulationError as error:
        raise PlanError(str(error)) from error
    hops = routes.shape[1]
    if hops > MAX_HOPS:
        raise PlanError(f'a route of {hops} links: engine = "ns3" takes {MAX_HOPS}')
    return routes, replies


def _settings(trial: SimulationTrial, fabric: _core.Fabric) -> Ns3Settings:
    network, line = dict(trial.network), _line_rate(fabric)
    for key in network:
        _require_known(key)
    _require_no_losses(fabric)
    segment = _core.parse_size(network.get("segment", "1000B"))
    _require_frames(network)
    _require_no_pauses(network)
    window, own = _controller(trial, fabric, segment)
    timeout = network.get("minimum_timeout", "4ms")
    if timeout == "none":
        raise PlanError('minimum_timeout: ns-3\'s TCP always has a time-out; write one, as in "4ms"')
    minimum = _core.parse_picoseconds(timeout)
    buffer = network.get("buffer")
    return Ns3Settings(
        scheme=trial.scheme,
        segment=segment,
        buffer=_BUFFER * line // _LINE if buffer is None else _core.parse_size(buffer),
        threshold=_threshold(trial.scheme, network, line),
        minimum_timeout=minimum,
        window=window,
        stop=_core.parse_picoseconds(network["stop"]) if "stop" in network else 0,
        attributes=_attributes(trial.scheme, segment, window, minimum) | own,
    )


def _require_known(key: str) -> None:
    if key in _KNOWN:
        return
    if key in _core.network_parameters():
        raise PlanError(f'{key}: ns-3 has no equal of it; engine = "ns3" takes {", ".join(_KNOWN)}')
    meant = nearest(key, list(_KNOWN))
    did = f'; did you mean "{meant}"?' if meant else ""
    raise PlanError(f'the network of engine = "ns3" has no parameter "{key}"{did}')


def _require_no_losses(fabric: _core.Fabric) -> None:
    for (first, second, *_), loss in zip(fabric.links, fabric.losses.tolist(), strict=True):
        if loss:
            raise PlanError(
                f"link {first}-{second} loses packets with probability {loss:g}: ns-3 draws losses otherwise than Trialwise",
                hint="write 0 for the loss of each link, the last number of its line in the topology's file",
            )


def _require_frames(network: Mapping[str, str]) -> None:
    for key in ("header", "acknowledgement"):
        if key in network and _core.parse_size(network[key]) != HEADER:
            raise PlanError(
                f"{key}: packets of ns-3 have {HEADER} bytes beside their payload",
                hint=f'write {key} = "{HEADER}B", which Trialwise\'s own engine takes as well, or leave it out',
            )


def _require_no_pauses(network: Mapping[str, str]) -> None:
    if network.get("pfc", "false") != "false":
        raise PlanError("pfc: ns-3 has no priority flow control", hint="write pfc = false, for both engines")


def _threshold(scheme: str, network: Mapping[str, str], line: int) -> int:
    """Return the queue length beyond which everything is marked, at the rate of the hosts; 0 for no marks."""
    marking = network.get("marking", "true")
    if marking not in ("true", "false"):
        raise PlanError(f'marking: "{marking}" is not allowed: true or false')
    if marking == "false":
        return 0
    default = f"{_THRESHOLD * line // _LINE}B" if scheme == "dctcp" else ""
    low, high = network.get("kmin", default), network.get("kmax", default)
    if not low or not high:
        raise PlanError(
            f"{scheme}: Trialwise marks at random between kmin and kmax by default, and ns-3 draws its marks otherwise",
            hint="write marking = false, or the same length for kmin and kmax",
        )
    if _core.parse_size(low) != _core.parse_size(high):
        raise PlanError(
            f"kmin = {low}, kmax = {high}: ns-3 draws the marks between them otherwise than Trialwise",
            hint="write the same length for both: everything beyond it is marked",
        )
    return _core.parse_size(low)


def _controller(trial: SimulationTrial, fabric: _core.Fabric, segment: int) -> tuple[int, dict[str, str]]:
    """Return the initial window in segments, and attributes of the congestion control."""
    own = CONTROLLER[trial.scheme]
    given = dict(trial.controller)
    for key in given:
        if key != "initial_window" and key not in own:
            known = ", ".join(["initial_window", *own])
            raise PlanError(f'{trial.scheme} of engine = "ns3" has no parameter "{key}": it has {known}')
    if "initial_window" in given:
        if not given["initial_window"].isdecimal() or int(given["initial_window"]) < 1:
            raise PlanError(
                f'initial_window: "{given["initial_window"]}" is not a number of segments, at least 1'
            )
        window = int(given["initial_window"])
    elif trial.scheme == "dctcp":  # Trialwise's own starts with one bandwidth-delay product
        window = max(1, _line_rate(fabric) * fabric.round_trip_ps // (8 * 10**12 * segment))
    else:
        window = _INITIAL_WINDOW
    return window, {own[key]: text for key, text in given.items() if key in own}


def _attributes(scheme: str, segment: int, window: int, minimum_timeout: int) -> dict[str, str]:
    """Return ns-3's attributes of hosts: data centre values where its defaults suit the Internet (acknowledgements, timeouts)."""
    return {
        "ns3::TcpL4Protocol::SocketType": SCHEMES[scheme],
        "ns3::TcpSocket::SegmentSize": str(segment),
        "ns3::TcpSocket::InitialCwnd": str(window),
        "ns3::TcpSocket::SndBufSize": str(_SOCKET_BUFFER),
        "ns3::TcpSocket::RcvBufSize": str(_SOCKET_BUFFER),
        "ns3::TcpSocket::DelAckCount": "1",
        "ns3::TcpSocketBase::UseEcn": "On",
        "ns3::TcpSocketBase::Timestamp": "false",  # they count milliseconds
        "ns3::TcpSocketBase::MinRto": f"{minimum_timeout}ps",
        "ns3::TcpSocketBase::ClockGranularity": "1us",
        "ns3::PointToPointNetDevice::Mtu": str(max(_MTU, segment + HEADER)),  # packets are not fragmented
    }


def _line_rate(fabric: _core.Fabric) -> int:
    """Return the rate of the first host's link in bit/s, for which queue lengths are meant."""
    host = int(fabric.hosts[0])
    return next(rate for first, second, rate, _ in fabric.links if host in (first, second))
