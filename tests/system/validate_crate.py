"""Validate a crate with roc-validator, without a network: the one context that it needs comes with the package rocrate.

Prints, as JSON, the identifiers of the checks that fail, by profile.
"""

import email
import io
import json
import sys
import tempfile
import urllib.request
import urllib.response
from pathlib import Path

import requests
import rocrate
import urllib3

CONTEXT = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
ADDRESS, KIND = "https://w3id.org/ro/crate/1.3/context", "application/ld+json"
PROFILES = ("ro-crate-1.3", "process-run-crate-0.5", "workflow-run-crate-0.5")


class Known(urllib.request.BaseHandler):
    handler_order = 100

    def https_open(self, request):
        if not request.full_url.startswith(ADDRESS):
            raise OSError("there is no network")
        head = email.message_from_string(f"Content-Type: {KIND}\n\n")
        return urllib.response.addinfourl(io.BytesIO(CONTEXT), head, request.full_url, 200)


def send(self, request, **more):
    if not request.url.startswith(ADDRESS):
        raise requests.ConnectionError("there is no network")
    answer = requests.Response()
    answer.status_code, answer.url, answer.request = 200, request.url, request
    answer.headers["Content-Type"] = KIND
    answer.raw = urllib3.HTTPResponse(
        body=io.BytesIO(CONTEXT), headers={"Content-Type": KIND}, status=200, preload_content=False
    )
    return answer


urllib.request.install_opener(urllib.request.build_opener(Known))
requests.adapters.HTTPAdapter.send = send

from rocrate_validator import models, services  # noqa: E402

found = {}
with tempfile.TemporaryDirectory() as cache:
    for profile in PROFILES:
        settings = services.ValidationSettings(
            rocrate_uri=sys.argv[1],
            profile_identifier=profile,
            requirement_severity=models.Severity.REQUIRED,
            cache_path=f"{cache}/http",
        )
        issues = services.validate(settings).get_issues()
        found[profile] = sorted({issue.check.identifier for issue in issues})
sys.stdout.write(json.dumps(found) + "\n")
