"""Generate valid and invalid requests from the API's OpenAPI document, and check the answers against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks

if TYPE_CHECKING:
    from tests.bad_input.conftest import Target

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EXAMPLES = 40
checks.load_all_checks()
CHECKS: list[Any] = [
    checks.CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    )
]


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_answers_are_as_documented(own_target: Target, mode: GenerationMode) -> None:
    """No request causes a server error, and every answer has a documented status, content type and schema."""
    schema = schemathesis.openapi.from_wsgi("/v1/openapi.json", own_target.world.web.app)
    operations = [schema[path][method] for path in schema for method in schema[path]]
    if mode is GenerationMode.NEGATIVE:
        # Only bodies can be invalid: every header and query parameter is a string.
        operations = [operation for operation in operations if list(operation.body)]
    assert len(operations) >= 6
    for operation in operations:

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(checks=CHECKS)

        answers()
