from __future__ import annotations

from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from gramme.router.validation import generated
from gramme.router.validation.interpreter import compile_shape
from gramme.router.validation.measured import enum_text, members_of, shape_of
from gramme.router.validation.patterns import compile_pattern

ROOT = Path(__file__).parents[4]


def generator() -> ModuleType:
    spec = spec_from_file_location("generator", ROOT / "tools" / "make_validation_table.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_what_the_generator_writes() -> None:
    try:
        installed = metadata.version("botocore")
    except metadata.PackageNotFoundError:
        pytest.skip("botocore is not installed")
    if installed != generated.BOTOCORE_VERSION:
        pytest.skip(f"the table is of botocore {generated.BOTOCORE_VERSION}, not {installed}")

    text = generator().render()

    assert text == (ROOT / "router" / "validation" / "generated.py").read_text()


def test_the_table_has_every_operation_of_both_services() -> None:
    assert len(generated.OPERATIONS) == 62 + 4
    assert {"GetItem", "TransactWriteItems", "SearchVectors", "GetRecords"} <= set(
        generated.OPERATIONS
    )


@pytest.mark.parametrize("operation", generated.OPERATIONS)
def test_every_operation_compiles(operation: str) -> None:
    assert compile_shape(generated.OPERATIONS[operation])({}) in (True, False)


def test_every_pattern_compiles() -> None:
    patterns = [shape["pattern"] for shape in generated.SHAPES.values() if "pattern" in shape]

    assert all(compile_pattern(pattern) for pattern in patterns)


def test_java_patterns_match_what_they_match_in_java() -> None:
    assert compile_pattern(r"\p{Print}+").fullmatch("a policy~")
    assert not compile_pattern(r"\p{Print}+").fullmatch("é")

    role = compile_pattern(generated.SHAPES["AutoScalingRoleArn"]["pattern"])
    assert role.fullmatch("arn:é\t😀")
    assert not role.fullmatch("\x00")


def test_what_was_measured_names_the_models_own_values() -> None:
    for name, shape in generated.SHAPES.items():
        # An operation may check an enum itself, in words of its own.
        if "enum" in shape_of(name):
            assert sorted(enum_text(name).split(", ")) == sorted(shape["enum"])
        if shape["type"] == "structure":
            assert set(members_of(name)) == set(shape_of(name)["members"])
