"""Attributes that name who a request is for and how urgent it is, under the names that exporters use."""

TENANT_KEYS = (
    "tenant.id", "tenant", "tenant_id", "enduser.id", "user.id", "organization.id", "llm.user", "gen_ai.request.user",
)  # fmt: skip
"""Attributes that name a tenant; the first that occurs counts."""

PRIORITY_KEYS = (
    "gen_ai.request.priority", "request.priority", "request_prio", "llm.request.priority", "priority",
)  # fmt: skip
"""Attributes that name a priority; the first that occurs counts."""
