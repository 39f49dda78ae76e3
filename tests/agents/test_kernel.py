"""What trained networks do in NumPy is what they do in JAX; actions go to [-1, 1] and back."""

import subprocess
import sys

import numpy as np
import pytest

from rlassay.kernel import forward, nets, units

LOW, HIGH = np.array([-2.0, 0.0, -1.0]), np.array([2.0, 3.0, 5.0])


@pytest.mark.parametrize("sizes", [[4, 2], [4, 8, 2], [4, 8, 6, 1]])
def test_numpy_and_jax_agree(sizes):
    rng = np.random.default_rng(0)
    ensemble = nets.init_mlp(rng, sizes, ensemble=3)
    inputs = rng.normal(size=(20, 4)).astype(np.float32)
    before = inputs.copy()
    everyone = np.asarray(nets.mlp(ensemble, inputs))
    layers = [{name: np.asarray(leaf) for name, leaf in layer.items()} for layer in ensemble]
    for index in range(3):
        one = forward.member(layers, index)
        np.testing.assert_allclose(forward.mlp(one, inputs), everyone[index], atol=1e-5)
        last = forward.hidden(one, inputs) @ one[-1]["w"] + one[-1]["b"]
        np.testing.assert_array_equal(last, forward.mlp(one, inputs))
    np.testing.assert_array_equal(inputs, before)


def test_the_forward_pass_needs_no_jax():
    code = "import sys, rlassay.kernel.forward, rlassay.policy; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("to", "back"),
    [
        (units.to_unit, units.from_unit),
        (units.to_unit_from_low, units.from_unit_from_low),
    ],
)
def test_actions_to_units_and_back(to, back):
    np.testing.assert_allclose(to(LOW, LOW, HIGH), -1)
    np.testing.assert_allclose(to(HIGH, LOW, HIGH), 1)
    np.testing.assert_allclose(back(np.zeros(3), LOW, HIGH), [0.0, 1.5, 2.0])
    actions = np.random.default_rng(0).uniform(LOW, HIGH, (9, 3))
    np.testing.assert_allclose(back(to(actions, LOW, HIGH), LOW, HIGH), actions, atol=1e-12)
