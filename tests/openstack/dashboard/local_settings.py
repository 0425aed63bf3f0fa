"""Horizon's settings, copied into its package when it is installed; what depends on the cloud is in the environment."""

from __future__ import annotations

import os

_BACKENDS = "django.core.cache.backends"
_MEMCACHED = os.environ.get("HORIZON_MEMCACHED")

DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
SECRET_KEY = os.environ.get("HORIZON_SECRET_KEY", "of no session")
WEBROOT = "/"
COMPRESS_OFFLINE = True
# One of the themes: each is compressed separately.
AVAILABLE_THEMES = [("default", "Default", "themes/default")]
OPENSTACK_KEYSTONE_URL = os.environ.get("HORIZON_KEYSTONE_URL", "")
OPENSTACK_KEYSTONE_DEFAULT_ROLE = "member"
# At the installation there is no cloud yet. Without a cache that works, what is compressed then would lack a part.
CACHES = {
    "default": {"BACKEND": f"{_BACKENDS}.memcached.PyMemcacheCache", "LOCATION": _MEMCACHED}
    if _MEMCACHED
    else {"BACKEND": f"{_BACKENDS}.locmem.LocMemCache"}
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "INFO"},
}
