"""The behavioural critic: Q and V of whoever made the data, and a diagnosis of both.

`rlassay.critic.fit.fit_critic` fits one; what is named here imports no JAX.
"""

from rlassay.critic.model import Critic, Scaling
from rlassay.critic.settings import FAST, PAPER, CriticSettings, refuse_idle_settings

REVISION = 1  # raised whenever the numbers of a critic change
SETTLED_REVISION = 2  # the same of one that ends once it has settled, which no study has

__all__ = [
    "FAST",
    "PAPER",
    "REVISION",
    "SETTLED_REVISION",
    "Critic",
    "CriticSettings",
    "Scaling",
    "refuse_idle_settings",
]
