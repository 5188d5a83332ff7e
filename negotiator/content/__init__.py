"""Pure scans of text that several rooms need: what a sentence claims, and what it gives away.

Rules:

- Functions over strings, without I/O; none raises on any text, and each takes time linear in its length.
- A hit says which pattern fired and where; it never repeats what it found.
- Patterns are tables; the reading of negations is one small engine (`negation.py`) that all claims share.
- An honest negation must pass: a claim is reported only if its own clause asserts it.

What is not here: what a hit means (that is `policies/`), and any judgement about whether a sentence is true.
"""
