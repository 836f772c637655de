"""Numbers of Python's and of NumPy's keep their arithmetic, dtypes, texts and hashes when compiled."""

from tests.rotation import SEED

from .number_programs import difference

_COUNT = 150


def test_random_expressions_agree_with_python(tmp_path):
    found = [text for number in range(_COUNT) if (text := difference(SEED, number, tmp_path)) is not None]
    assert not found, f"{len(found)} of {_COUNT} differ\n" + "\n".join(found[:3])
