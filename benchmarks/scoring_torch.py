"""The same work as scoring_ours.py in eager PyTorch: python scoring_torch.py critic|dual STEPS."""

from __future__ import annotations

import json
import sys
import time

import torch

ROWS, STATE_DIM, ACTION_DIM, BATCH, HIDDEN = 100_000, 17, 6, 256, 256
DISCOUNT, EPSILON = 0.99, 0.5


def network(inputs: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1)
    )


def joined(states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    return torch.cat([states, actions], -1)


def critic(steps: int) -> None:
    """SARSA for Q and regression of V on Q, Adam."""
    states, following = torch.randn(2, ROWS, STATE_DIM)
    actions, next_actions = torch.rand(2, ROWS, ACTION_DIM) * 2 - 1
    rewards, continues = torch.randn(ROWS), torch.ones(ROWS)
    inputs, next_inputs = joined(states, actions), joined(following, next_actions)
    q, v = network(STATE_DIM + ACTION_DIM), network(STATE_DIM)
    adam = torch.optim.Adam([*q.parameters(), *v.parameters()], lr=3e-4)
    for _ in range(steps):
        rows = torch.randint(0, ROWS, (BATCH,))
        with torch.no_grad():
            target = rewards[rows] + DISCOUNT * continues[rows] * q(next_inputs[rows])[:, 0]
        x = inputs[rows]
        value = q(x)[:, 0]
        loss = ((value - target) ** 2).mean()
        loss = loss + ((v(x[:, :STATE_DIM])[:, 0] - value.detach()) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()


def dual(steps: int) -> None:
    """Algorithm 1 with one uniform action per state and a frozen critic, Adam."""
    states, actions = torch.randn(ROWS, STATE_DIM), torch.rand(ROWS, ACTION_DIM) * 2 - 1
    q, g, f = (network(STATE_DIM + ACTION_DIM) for _ in range(3))
    adam = torch.optim.Adam([*g.parameters(), *f.parameters()], lr=3e-4)
    for _ in range(steps):
        rows = torch.randint(0, ROWS, (BATCH,))
        s, a, other = states[rows], actions[rows], torch.rand(BATCH, ACTION_DIM) * 2 - 1
        with torch.no_grad():
            cost = q(joined(s, other))[:, 0] - ((other - a) ** 2).sum(-1)
        total = g(joined(s, a))[:, 0] + f(joined(s, other))[:, 0]
        value = total - EPSILON * torch.exp((total - cost) / EPSILON).clamp(max=1e8)
        adam.zero_grad()
        (-value.mean()).backward()
        adam.step()


def seconds(function, steps: int) -> float:
    started = time.perf_counter()
    function(steps)
    return time.perf_counter() - started


def best_threads(function) -> int:
    """The faster of one thread and PyTorch's own choice, by a short trial."""
    own = torch.get_num_threads()
    trials = {}
    for count in {1, own}:
        torch.set_num_threads(count)
        function(20)
        trials[count] = seconds(function, 300)
    return min(trials, key=lambda count: trials[count])


def main(work: str, steps: int) -> dict[str, float]:
    function = {"critic": critic, "dual": dual}[work]
    torch.set_num_threads(1)
    cold_start = seconds(function, 1)
    threads = best_threads(function)
    torch.set_num_threads(threads)
    before = time.process_time()
    warm = seconds(function, steps)
    cpu = time.process_time() - before
    return {"cold": cold_start + warm, "warm": warm, "warm_cpu": cpu, "threads": threads}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
