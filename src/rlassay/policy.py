"""A deterministic policy as NumPy arrays: what agents and collectors save and what rollouts run.

One file is one safetensors archive: layers `layer<i>.w`, `layer<i>.b`, the observation's mean and scale, the action
bounds (of discrete actions the first and the last number), and text metadata. No JAX is needed to act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rlassay.errors import DatasetError
from rlassay.kernel import forward, units

METADATA_KEY = "rlassay"


@dataclass(frozen=True)
class Policy:
    """action = centre + half_range * tanh(MLP((observation - mean) / scale)), hidden units ReLU.

    Of discrete actions it is the first number + the place of the largest output.
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    squash: bool = True
    metadata: Mapping[str, str] = field(default_factory=dict)
    discrete: bool = False

    @property
    def observation_dim(self) -> int:
        return int(self.weights[0].shape[0])

    @property
    def action_dim(self) -> int:
        """Numbers of one action."""
        return 1 if self.discrete else int(self.weights[-1].shape[1])

    @property
    def layers(self) -> list[dict[str, np.ndarray]]:
        """Weights and biases, layer by layer."""
        return [{"w": w, "b": b} for w, b in zip(self.weights, self.biases, strict=True)]

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions for a batch (n, observation_dim) or one observation: float32, or whole numbers (n,)."""
        x = self.outputs(observations)
        if self.discrete:
            return x.argmax(axis=-1) + int(self.low[0])
        if not self.squash:
            return np.clip(x, self.low, self.high)
        return units.from_unit(np.tanh(x), self.low, self.high)

    def outputs(self, observations: np.ndarray) -> np.ndarray:
        """What the network says: actions before the tanh, or a number for each discrete action."""
        x = ((observations - self.mean) / self.scale).astype(np.float32)
        return forward.mlp(self.layers, x)

    def save(self, path: Path, *, half: bool = False) -> None:
        """Write atomically; `half` stores the layers in half precision."""
        from rlassay.engine.files import write_atomically

        write_atomically(path, self.to_bytes(half=half))

    def to_bytes(self, *, half: bool = False) -> bytes:
        """The file `save` writes; equal policies give equal bytes."""
        from safetensors.numpy import save

        dtype = np.float16 if half else np.float32
        tensors: dict[str, np.ndarray] = {
            "low": self.low,
            "high": self.high,
            "mean": self.mean,
            "scale": self.scale,
        }
        for name, value in tensors.items():
            tensors[name] = np.asarray(value, np.float32)
        for index, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            tensors[f"layer{index}.w"] = np.ascontiguousarray(w, dtype)
            tensors[f"layer{index}.b"] = np.ascontiguousarray(b, dtype)
        described = {**self.metadata, "squash": str(self.squash).lower()}
        described |= {"discrete": "true"} if self.discrete else {}
        # one entry, because safetensors writes several in no fixed order: equal policies, equal bytes
        metadata = {METADATA_KEY: json.dumps(described, sort_keys=True)}
        return save(tensors, metadata=metadata)

    @classmethod
    def load(cls, path: Path) -> Policy:
        """Read a policy; half-precision layers are widened to float32."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), framework="numpy") as archive:
                tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
                metadata = dict(archive.metadata() or {})
            metadata = json.loads(metadata.get(METADATA_KEY, json.dumps(metadata)))
            count = sum(name.endswith(".w") for name in tensors)
            layers = [
                [tensors[f"layer{i}.{part}"].astype(np.float32) for i in range(count)]
                for part in "wb"
            ]
            kind = {
                "squash": metadata.pop("squash", "true") == "true",
                "discrete": metadata.pop("discrete", "false") == "true",
            }
            bounds = {name: tensors[name] for name in ("low", "high", "mean", "scale")}
        except (SafetensorError, KeyError, OSError, ValueError) as error:
            raise DatasetError(
                f"{path} is not a policy of rlassay ({error})",
                remedy="name a .safetensors file written by `rlassay train` or `rlassay collect`",
            ) from None
        return cls(tuple(layers[0]), tuple(layers[1]), metadata=metadata, **kind, **bounds)


def load_policy(source: str | Path) -> Policy:
    """The policy of a run's folder, or of a .safetensors file: call it with observations to get actions, in NumPy alone."""
    from rlassay.results.run import POLICY

    path = Path(source)
    return Policy.load(path / POLICY if path.is_dir() else path)
