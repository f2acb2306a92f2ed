"""What the tests take a release to lack is what came later: nothing hides as a skip."""

from __future__ import annotations

import re

import pytest

from producers.features import FEATURES, Feature, version


@pytest.mark.parametrize("feature", FEATURES, ids=lambda f: f.what)
def test_feature_is_there_since_the_release_that_brought_it(feature: Feature) -> None:
    release = tuple(map(int, re.findall(r"\d+", version())[:3]))
    assert feature.here() == (release >= feature.since), (version(), feature)
