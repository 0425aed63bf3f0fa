"""What the service counts about itself, for Prometheus. Labels come from fixed lists, never from ids or names."""

from prometheus_client import disable_created_metrics

# When a series was first counted is a second series for each, which nobody looks at.
disable_created_metrics()  # type: ignore[no-untyped-call]
