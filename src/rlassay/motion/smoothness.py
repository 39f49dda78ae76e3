"""Smoothness of the movement, and tremor of the commands."""

from __future__ import annotations

import numpy as np

from rlassay.motion.trajectories import Motion

CUTOFF = 10.0  # hertz: human and robot arm movement lies below (Balasubramanian et al. 2015)
THRESHOLD = 0.05  # of the spectrum's largest value: what lies beyond its last crossing is noise
PADDING = 4  # powers of two by which the profile is padded, for a smooth spectrum
LONGEST = (
    1 << 16
)  # rows of a profile that are transformed at once; a longer one is cut into windows
FAST = 0.25  # cycles a frame: above lies the faster half of the spectrum
SHORTEST = 8  # rows; less has no spectrum worth the name


def spectral_arc_length(speed: np.ndarray, rate: float | None = None) -> float:
    """SPARC: minus the length of the curve of the speed's normalised spectrum. Smoother is nearer to 0.

    With `rate` frames a second the spectrum is read up to 10 Hz, without it up to the Nyquist frequency.
    """
    size = 1 << (int(np.ceil(np.log2(len(speed)))) + PADDING)
    amplitude = np.abs(np.fft.rfft(speed, size))
    if amplitude.max() == 0:
        return 0.0
    amplitude = amplitude / amplitude.max()
    frequency = np.fft.rfftfreq(size, 1.0 / rate if rate else 0.5)
    inside = frequency <= (CUTOFF if rate else 1.0)
    last = np.flatnonzero(amplitude[inside] >= THRESHOLD)[-1]
    if last == 0:
        return -1.0  # the spectrum falls below the threshold within one bin: a straight drop
    height, place = amplitude[: last + 1], frequency[: last + 1] / frequency[last]
    return -float(np.hypot(np.diff(place), np.diff(height)).sum())


def smoothness(motion: Motion) -> np.ndarray:
    """Spectral arc length of the speed of the state, in units of its spread a step. Higher is smoother.

    Fails on tasks that are jerky by nature (contacts, walking), on very short episodes, and follows length: a longer
    record of the same movement has more submovements. White noise on the record is invisible to it, or even looks
    smooth, because it raises the mean of the speed: see `jitter`.
    """
    values = np.full(motion.count, np.nan)
    if motion.scaled_states.shape[1] == 0:
        return values
    for number, rows in enumerate(motion.rows()):
        states = motion.scaled_states[rows]
        if len(states) >= SHORTEST:
            speed = np.linalg.norm(np.diff(states, axis=0), axis=1)
            values[number] = _windowed(speed, motion.rate)
    return values


def _windowed(speed: np.ndarray, rate: float | None) -> float:
    parts = np.array_split(speed, -(-len(speed) // LONGEST))
    return float(np.mean([spectral_arc_length(part, rate) for part in parts]))


def tremor(motion: Motion) -> np.ndarray:
    """Share of the power of the actions in the faster half of the spectrum (Welch). 0.5 is white noise; lower is better.

    Constant actions have none. Fails on commands that switch by design (grippers, bang-bang control, discrete actions)
    and where the recording was filtered.
    """
    return _fast_shares(motion.scaled_actions, motion)


def jitter(motion: Motion) -> np.ndarray:
    """The same share for the states: noise on what was recorded. Lower is better.

    Fails where the observation holds velocities of contacts or switches, which are fast by nature, and where the
    recording was filtered.
    """
    return _fast_shares(motion.scaled_states, motion)


def _fast_shares(signals: np.ndarray, motion: Motion) -> np.ndarray:
    values = np.full(motion.count, np.nan)
    for number, rows in enumerate(motion.rows()):
        if rows.stop - rows.start >= SHORTEST:
            values[number] = fast_share(signals[rows])
    return values


def fast_share(signals: np.ndarray) -> float:
    """Power above a quarter of the sampling rate over all power but that of the mean; 0 for constant signals."""
    from scipy.signal import welch

    if signals.shape[1] == 0:
        return 0.0
    frequency, power = welch(signals, nperseg=min(256, len(signals)), axis=0)
    total = power[1:].sum()
    return float(power[frequency > FAST].sum() / total) if total > 1e-20 else 0.0
