"""The HTTP side: the policy enforcement point in front of the site, and our own routes.

Pure ASGI: no `BaseHTTPMiddleware`, no thread, nothing started in a constructor. `problems` is the one place that knows
HTTP statuses; everything else speaks in codes.
"""
