"""The metrics of the service, for Prometheus. Labels come from fixed lists, never from ids or names."""

from prometheus_client import disable_created_metrics

# Without this each counter has a second series for its time of creation, which has no use here.
disable_created_metrics()  # type: ignore[no-untyped-call]
