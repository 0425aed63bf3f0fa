"""The OpenStack cloud, behind the ports. The only place that knows OpenStack's SDK."""
