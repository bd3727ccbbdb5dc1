"""Names of images, whose choice counts, and room."""

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.swe_bench.images import (
    check_room,
    choose_image,
    from_template,
    official_image,
    room_needed,
)
from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.rows import read_row

GIB = 1 << 30


@pytest.fixture
def instance(row):
    return read_row(row(instance_id="Acme__Slug-1", repo="Acme/Slug"), "x")


@pytest.fixture
def baked(row):
    more = {"image": "own/image:2", "eval_script": "x", "log_parser": "parse_log_pytest"}
    return read_row(row(**more, eval_type="pass_and_fail"), "x")


def test_official_names():
    assert official_image("astropy__astropy-12907") == (
        "swebench/sweb.eval.x86_64.astropy_1776_astropy-12907:latest"
    )
    assert official_image("Acme__Slug-1", "arm64").startswith("swebench/sweb.eval.arm64.acme_1776_")
    with pytest.raises(BadInputError, match="there are: x86_64, arm64"):
        official_image("a__b-1", "riscv")


def test_templates(instance):
    def made(template):
        return from_template(template, instance)

    assert made("reg.local:5000/swe/{id}:v1") == "reg.local:5000/swe/acme_1776_slug-1:v1"
    assert made("x/{owner}.{repo}/{version}-{instance_id}") == "x/acme.slug/1.0-acme__slug-1"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("x/{name}", "no field 'name'; there are: id, instance_id, owner, repo, version, arch"),
        ("x/y:latest", "names one image for all instances: use {id}"),
        ("x/{id", "expected '}'"),
        ("x/ {id}", "no image name"),
        ("X/{id}", "no image name"),
        ("x/{}-{id}", "no field ''"),
    ],
)
def test_templates_that_make_no_name(instance, template, said):
    with pytest.raises(BadInputError) as error:
        from_template(template, instance)
    assert said in str(error.value)


def test_who_names_the_image(instance, baked):
    asked = []

    def has(name):
        asked.append(name)
        return name.startswith("own/")

    choices = [
        choose_image(baked, has, "t/{id}"),
        choose_image(baked, has),
        choose_image(instance, has),
    ]
    assert [c.source for c in choices] == ["template", "row", "official"]
    assert [c.present for c in choices] == [False, True, False]
    assert asked == [c.name for c in choices]


def test_room(instance):
    one = room_needed([instance])
    assert 2 * GIB < one < 4 * GIB
    assert room_needed([instance] * 3) == pytest.approx(3 * one, abs=3)
    check_room([], 0)
    check_room([instance], one + 5 * GIB)
    with pytest.raises(InfrastructureError, match=r"1 images are missing and take about 8 GiB"):
        check_room([instance], one)


def test_official_names_are_image_names(real_rows):
    for instance in load(real_rows / "lite.jsonl"):
        name = official_image(instance.id).removesuffix(":latest")
        assert from_template(f"{name}-{{id}}", instance)
