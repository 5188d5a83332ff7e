"""What the site publishes about itself, for agents and for people.

    endpoints        the one route table: every route that is ours, as data
    links            the only maker of addresses
    published        what discovery needs to know of a site
    documents        the documents as JSON values
    openapi          the OpenAPI document, with its `components`
    representations  values to bytes, entity tags
    pages            HTML from the same values, in several languages; `templates/` and `static/`
    prose            Markdown and plain text from the HTML

It knows no service and no credential: everything in here is public.
"""
