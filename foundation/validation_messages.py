"""Messages about invalid fields, in our own words.

Pure: no Django.
"""

from typing import Any

from foundation.messages import message_of, say

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
    "list_type": "input should be a valid list",
    "tuple_type": "input should be a valid list",
    "list_too_short": "list should have at least %(min_length)s items",
    "list_too_short_1": "list should have at least 1 item",
    "list_too_long": "list should have at most %(max_length)s items",
    "mapping_too_short": "mapping should have at least %(min_length)s items",
    "mapping_too_short_1": "mapping should have at least 1 item",
    "greater_than": "input should be greater than %(gt)g",
    "greater_than_equal": "input should be greater than or equal to %(ge)g",
    "less_than": "input should be less than %(lt)g",
    "less_than_equal": "input should be less than or equal to %(le)g",
    "finite_number": "input should be a finite number",
    "bool_type": "input should be a valid boolean",
    "bool_parsing": "input should be a valid boolean, unable to interpret input",
    "int_type": "input should be a valid integer",
    "int_parsing": "input should be a valid integer, unable to parse string as an integer",
    "int_from_float": "input should be a valid integer, got a number with a fractional part",
    "float_type": "input should be a valid number",
    "float_parsing": "input should be a valid number, unable to parse string as a number",
    "date_type": "input should be a valid date",
    "date_parsing": "input should be a valid date in the format YYYY-MM-DD",
    "date_from_datetime_parsing": "input should be a valid date in the format YYYY-MM-DD",
    "date_from_datetime_inexact": "input should be a valid date in the format YYYY-MM-DD",
    "string_type": "input should be a valid string",
    "string_unquoted": "must be text; write it in quotes: %(text)r",
    "string_pattern_mismatch": "string should match pattern '%(pattern)s'",
    "string_too_short": "string should have at least %(min_length)s characters",
    "string_too_short_1": "string should have at least 1 character",
    "string_too_long": "string should have at most %(max_length)s characters",
    "nul": "holds the character NUL, which cannot be stored",
    "surrogate": "holds half of a surrogate pair, which is not a character",
    "string_unicode": "holds half of a surrogate pair, which is not a character",
    "json_invalid": "not JSON: %(error)s",
    "literal_error": "input should be %(expected)s",
    "literal_errors": "input should be %(expected)s or %(last)s",
}


def sentence(error: Any) -> str:
    """Return the message of an error of pydantic, in plain language."""
    kind, values = error["type"], dict(error.get("ctx", {}))
    if kind == "value_error":
        return message_of(values["error"])
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
