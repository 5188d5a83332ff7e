"""What the product does, over ports. `web/`, `cli/` and `assembly.py` call these; see each module.

- `negotiations`: declarations and their answers
- `enforcement`: governed requests
- `proposals`: memory proposals, as their authors see them
- `administration`: agents and their credentials
- `audit`: the ledger, for reading
"""
