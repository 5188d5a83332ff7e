"""The demo website and the narrated story that runs against it. Nothing here is needed to serve your own site."""
