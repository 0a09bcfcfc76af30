"""The bases of immutable typed values."""

from typing import Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class FrozenModel(BaseModel):
    """An immutable model that rejects unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def map_kinds(union: Any) -> dict[str, type[BaseModel]]:
    """Return the members of a union that is discriminated by ``kind``, by it."""
    members = get_args(get_args(union)[0])
    return {get_args(member.model_fields["kind"].annotation)[0]: member for member in members}


class Growing(FrozenModel):
    """A frozen type that has gained fields since 0.1, each with a default.

    A later field with its default is left out of the JSON, so that studies frozen before it existed, and
    those that do not use it, keep their hash. ``FIRST`` names the fields of 0.1 that have a default too; they
    are always written. A field is written by its alias if it has one, because ``is`` and ``except`` cannot be
    names in Python.
    """

    model_config = ConfigDict(populate_by_name=True)
    FIRST: ClassVar[frozenset[str]] = frozenset()
    LATER: ClassVar[frozenset[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: Any) -> None:
        fields = cls.model_fields.items()
        cls.LATER = frozenset(name for name, field in fields if not field.is_required()) - cls.FIRST

    @model_serializer(mode="wrap")
    def _drop_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            fields[name].alias or name: value
            for name, value in handler(self).items()
            if name not in self.LATER or getattr(self, name) != fields[name].get_default()
        }
