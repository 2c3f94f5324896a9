"""Sign the manifest of an artifact, and say who signed it: signatures of OpenSSH (ssh-keygen(1), -Y)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from trialwise.analysis.artifacts import Signed
from trialwise.errors import PlanError, StoreError
from trialwise.exchange.artifact.integrity import SIGNATURE
from trialwise.exchange.artifact.manifest import MAX_BYTES
from trialwise.exchange.artifact.manifest import NAME as MANIFEST
from trialwise.exchange.artifact.reading import Artifact
from trialwise.foreign_files import read_foreign
from trialwise.temporary import vanishing_folder
from trialwise.visible import visible

NAMESPACE = "trialwise-artifact"
_PROGRAM = "ssh-keygen"
_SECONDS = 300
_MAX_SIGNATURE = 64 << 10
_KEY = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def sign(manifest: bytes, key: Path) -> bytes:
    """Return the signature of a manifest; the passphrase of the key is asked for on the terminal, or an agent has it.

    Raises
    ------
    PlanError
        There is no ssh-keygen, or it does not sign with this key.
    """
    try:
        done = _ran(["sign", "-f", str(key.resolve()), "-n", NAMESPACE], manifest)
    except FileNotFoundError as error:
        raise PlanError(f"--sign {key}: there is no {_PROGRAM}", hint="install OpenSSH") from error
    if done.returncode != 0 or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise PlanError(
            f"--sign {key}: {_PROGRAM} does not sign with it: {_last(done)}",
            hint="name a private key, or a public one whose private key an agent has",
        )
    return done.stdout


def signed_by(artifact: Artifact, allowed: Path | None) -> Signed | None:
    """Return who signed an artifact; None if nobody did and nobody is asked for.

    Parameters
    ----------
    allowed
        A file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS), which must come from elsewhere than the artifact.

    Raises
    ------
    StoreError
        There is a signature that cannot be checked.
    PlanError
        The file of allowed signers is absent.
    """
    if allowed is not None and not allowed.is_file():
        raise PlanError(f"--allowed-signers {allowed}: there is no such file")
    if SIGNATURE not in artifact.names:
        return None if allowed is None else Signed(None, None, "it is not signed")
    manifest = read_foreign(artifact.folder / MANIFEST, MAX_BYTES, within=artifact.folder, error=StoreError)
    signature = read_foreign(
        artifact.folder / SIGNATURE, _MAX_SIGNATURE, within=artifact.folder, error=StoreError
    )
    with vanishing_folder("trialwise-") as folder:
        file = folder / SIGNATURE
        file.write_bytes(signature)
        try:
            return _checked(manifest, file, allowed)
        except FileNotFoundError as error:
            raise StoreError(
                f"{artifact.path}: is signed, and there is no {_PROGRAM} to check that",
                hint="install OpenSSH",
            ) from error


def _checked(manifest: bytes, signature: Path, allowed: Path | None) -> Signed:
    words = ["-n", NAMESPACE, "-s", str(signature)]
    done = _ran(["check-novalidate", *words], manifest)
    found = _KEY.search(done.stdout.decode(errors="replace"))
    if done.returncode != 0 or found is None:
        return Signed(None, None, "the signature does not fit the manifest")
    if allowed is None:
        return Signed(found[0], None, None)
    place = str(allowed.resolve())
    names = _ran(["find-principals", "-s", str(signature), "-f", place], b"").stdout.decode(errors="replace")
    for name in names.splitlines():
        if _ran(["verify", "-f", place, "-I", name, *words], manifest).returncode == 0:
            return Signed(found[0], visible(name), None)
    return Signed(found[0], None, f"the key that signed it is not in {visible(allowed.name)}")


def _ran(words: list[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [_PROGRAM, "-Y", *words], input=content, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise StoreError(f"{_PROGRAM} does not end", hint="try it by hand") from error


def _last(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return visible(lines[-1][:200]) if lines else f"exit code {done.returncode}"
