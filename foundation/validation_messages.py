"""Messages about invalid fields, in our own words.

Pure: no Django.
"""

from typing import Any

from foundation.messages import extract_message, say

# Message by pydantic's type of error, with its values. Errors without an entry keep pydantic's own message.
# If the number is one, the entry with `_1` is used.
FORMS: dict[str, str] = {
    "missing": "is missing",
    "none_required": "there is no such field",
    "extra_forbidden": "there is no such field",
    "union_tag_not_found": "kind is missing",
    "union_tag_invalid": "unknown kind %(tag)r; known kinds: %(expected_tags)s",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "dict_type": "must be a mapping of fields",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "list_too_short": "must have at least %(min_length)s items",
    "list_too_short_1": "must have at least 1 item",
    "list_too_long": "must have at most %(max_length)s items",
    "mapping_too_short": "must have at least %(min_length)s items",
    "mapping_too_short_1": "must have at least 1 item",
    "greater_than": "must be greater than %(gt)g",
    "greater_than_equal": "must be at least %(ge)g",
    "less_than": "must be less than %(lt)g",
    "less_than_equal": "must be at most %(le)g",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "date_type": "must be a date in the form YYYY-MM-DD",
    "date_parsing": "must be a date in the form YYYY-MM-DD",
    "date_from_datetime_parsing": "must be a date in the form YYYY-MM-DD",
    "date_from_datetime_inexact": "must be a date in the form YYYY-MM-DD",
    "scalar_type": "must be true or false, a number or text",
    "string_type": "must be text",
    "string_unquoted": "must be text; write it in quotes: %(text)r",
    "string_pattern_mismatch": "must match the pattern '%(pattern)s'",
    "string_too_short": "must have at least %(min_length)s characters",
    "string_too_short_1": "must have at least 1 character",
    "string_too_long": "must have at most %(max_length)s characters",
    "blank": "must not be empty",
    "nul": "holds the character NUL, which cannot be stored",
    "surrogate": "holds half of a surrogate pair, which is not a character",
    "string_unicode": "holds half of a surrogate pair, which is not a character",
    "json_invalid": "not JSON: %(error)s",
    "literal_error": "must be %(expected)s",
    "literal_errors": "must be %(expected)s or %(last)s",
}


def describe_error(error: Any) -> str:
    """Return the message of an error of pydantic, in plain language."""
    kind, values = error["type"], dict(error.get("ctx", {}))
    if kind == "value_error":
        return extract_message(values["error"])
    if kind == "string_type" and not isinstance(error["input"], dict | list) and error["input"] is not None:
        kind, values = "string_unquoted", {"text": str(error["input"])}
    if kind in ("too_short", "too_long"):
        kind = f"{'mapping' if values['field_type'] == 'Dictionary' else 'list'}_{kind}"
    if kind == "enum":
        kind = "literal_error"
    if kind == "literal_error" and " or " in values["expected"]:
        kind = "literal_errors"
        values["expected"], _or, values["last"] = values["expected"].rpartition(" or ")
    if values.get("min_length") == 1:
        kind += "_1"
    if kind in FORMS:
        return say(FORMS[kind], **values)
    message = str(error["msg"])
    return message[:1].lower() + message[1:]
