"""Repair what `inspect` finds: every rule is named and counted, the source stays as it is, other rows stay bit-equal."""

from rlassay.repair.applying import SCHEMA, Repair, repair
from rlassay.repair.command import repair_file
from rlassay.repair.rules import RULES

__all__ = ["RULES", "SCHEMA", "Repair", "repair", "repair_file"]
