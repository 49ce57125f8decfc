"""The same through `format_map`, and through the type's own method.

Contained: checked likewise, as the value and not the spelling decides.
"""


def attack():
    template = "{x.__" + "class__.__" + "mro__}"
    found = [template.format_map({"x": 1}), str.format_map(template, {"x": 1})]
    return f"escaped: {found}"
