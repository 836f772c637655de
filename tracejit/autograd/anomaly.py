"""Anomaly detection: whether backward passes look for NaN, and name the operation.

Semantics: ``torch.autograd.detect_anomaly`` and its relatives.
"""

from __future__ import annotations

from ..provided import LOOK_FOR_ANOMALIES
from ..state import STATE
from ..tape.modes import Mode
from ..tape.recording import observe_recording


class detect_anomaly(Mode):
    """Remember the line of each operation, and raise where backward makes a NaN, naming that line.

    Both the forward and the backward computation must run inside. With ``check_nan=False`` only the lines
    are remembered, for other errors to name. It slows eager code down several times. Where compiled code
    gives a NaN, whether as the gradient of a jitted function or of gradients taken inside it, its gradient is
    searched op by op. `tj.debug.check_nans` looks at forward code too, and for infinities.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor(0.0, requires_grad=True)
        >>> with tj.autograd.detect_anomaly():
        ...     y = tj.sqrt(x) * 0
        ...     y.backward()
        Traceback (most recent call last):
            ...
        tracejit.base.errors.GradientError: backward: function 'SqrtBackward' returned nan values in its ...

    Semantics: ``torch.autograd.detect_anomaly``.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check = bool(check_nan)

    def _switch(self) -> bool | None:
        outer = STATE.anomaly
        _look_into_compiled(outer, self._check)
        STATE.anomaly = self._check
        observe_recording(+1)
        return outer

    def _restore(self, outer: bool | None) -> None:
        _look_into_compiled(STATE.anomaly, outer)
        STATE.anomaly = outer
        observe_recording(-1)


def _look_into_compiled(before: bool | None, after: bool | None) -> None:
    """Begin or end looking for NaN in the gradients of compiled code."""
    if bool(before) != bool(after):
        # loads what observes programs, which only who looks for NaN needs
        LOOK_FOR_ANOMALIES()(bool(after))


class set_detect_anomaly:
    """Switch anomaly detection on or off: at once when called, and back again as a context manager.

    It decorates nothing: `detect_anomaly` does.

    Semantics: ``torch.autograd.set_detect_anomaly``.

    Example:
        >>> import tracejit as tj
        >>> with tj.autograd.set_detect_anomaly(True):
        ...     tj.autograd.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._called: bool | None = STATE.anomaly
        _set(bool(check_nan) if mode else None)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        _set(self._called)


def _set(anomaly: bool | None) -> None:
    _look_into_compiled(STATE.anomaly, anomaly)
    observe_recording((anomaly is not None) - (STATE.anomaly is not None))
    STATE.anomaly = anomaly


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread.

    Example:
        >>> import tracejit as tj
        >>> tj.autograd.is_anomaly_enabled()
        False
        >>> with tj.autograd.detect_anomaly():
        ...     tj.autograd.is_anomaly_enabled()
        True
    """
    return STATE.anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaN in this thread.

    Example:
        >>> import tracejit as tj
        >>> with tj.autograd.detect_anomaly(check_nan=False):
        ...     tj.autograd.is_anomaly_enabled(), tj.autograd.is_anomaly_check_nan_enabled()
        (True, False)
    """
    return bool(STATE.anomaly)
