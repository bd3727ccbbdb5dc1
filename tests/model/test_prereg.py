"""What a registration says of an arm, and what it leaves unsaid."""

from hfr_bench.model.prereg import Arm


def test_an_arm_that_masks_nothing_is_written_as_before_and_one_that_does_says_so():
    plain = Arm(name="a", strategy="s")
    assert "masks" not in plain.dumps()
    masking = Arm(name="a", strategy="s", masks=("sdk_retries",))
    assert Arm.loads(masking.dumps()) == masking
    assert masking.digest() != plain.digest()
