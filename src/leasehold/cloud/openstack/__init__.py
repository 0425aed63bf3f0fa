"""The ports on OpenStack, one module for each part of a service, with HTTP calls through keystoneauth1."""
