"""What accelerators can do at most: dense peak rates by device and precision, for the use that is made of them.

Sources: NVIDIA's data sheets of A100, H100, H200 and B200 (SXM), L40S, V100; AMD's of MI250X and MI300X; Google's of
TPU v4, v5e, v5p and v6e. All are without sparsity.
"""

from __future__ import annotations

PEAK_FLOPS: dict[tuple[str, str], float] = {
    ("v100", "fp16"): 125e12,
    ("a100", "bf16"): 312e12,
    ("a100", "fp16"): 312e12,
    ("a100", "tf32"): 156e12,
    ("h100", "bf16"): 989e12,
    ("h100", "fp16"): 989e12,
    ("h100", "fp8"): 1979e12,
    ("h200", "bf16"): 989e12,
    ("h200", "fp16"): 989e12,
    ("h200", "fp8"): 1979e12,
    ("b200", "bf16"): 2250e12,
    ("b200", "fp16"): 2250e12,
    ("b200", "fp8"): 4500e12,
    ("l40s", "bf16"): 362e12,
    ("mi250x", "bf16"): 383e12,
    ("mi300x", "bf16"): 1307e12,
    ("mi300x", "fp8"): 2615e12,
    ("tpu-v4", "bf16"): 275e12,
    ("tpu-v5e", "bf16"): 197e12,
    ("tpu-v5p", "bf16"): 459e12,
    ("tpu-v6e", "bf16"): 918e12,
}
"""Floating-point operations a second of one accelerator."""

DEVICES = tuple(sorted({device for device, _ in PEAK_FLOPS}))
PRECISIONS = tuple(sorted({precision for _, precision in PEAK_FLOPS}))


def model_flops_utilisation(
    *, tokens: int | None, flops_per_token: float | None, device: str | None, precision: str, run_ns: int
) -> float | None:
    """Model FLOPs over what the accelerators could have done in the time in which they made steps.

    MFU = flops_per_token * tokens / (peak * run time of all accelerators); flops_per_token is what forward and
    backward need for one token (6 N + 12 L H Q T for a transformer, PaLM), recomputation not counted. `run_ns` is
    the accelerator time of the steps that made the tokens. None where any of it is not known.
    """
    peak = PEAK_FLOPS.get((device.lower(), precision)) if device else None
    if not tokens or not flops_per_token or peak is None or run_ns <= 0:
        return None
    return flops_per_token * tokens / (peak * run_ns / 1e9)
