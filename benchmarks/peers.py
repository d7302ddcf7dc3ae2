"""
A call beside the calls of others, on the same payloads, in the same run.

    python benchmarks/peers.py                        # installs each peer into a virtual environment of its own
    python benchmarks/peers.py --rounds 3 --svg docs/images/peers.svg

Each is measured in processes of its own, in turn, round by round; the figures are medians over the rounds. A peer that
cannot be installed is left out, and that is said. The adapters are in `peers/`, and say what of each peer is called.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
PEERS = {  # the adapter: the name, and what is installed
    "toolexec_adapter": ("toolexec", None),
    "openai_agents_adapter": ("openai-agents", "openai-agents"),
    "pydantic_ai_adapter": ("pydantic-ai", "pydantic-ai-slim"),
    "langchain_adapter": ("langchain-core", "langchain-core"),
    "fastmcp_adapter": ("fastmcp, in memory", "fastmcp"),
}
WORK = {
    "small": "a typed function of two numbers",
    "large": "12 properties, one of them 20 objects of three",
    "judged": "two numbers, behind the permission plugin with a whitelist",
}
SECONDS = 600.0


def interpreter(folder: Path, package: str | None) -> str | None:
    """The Python that has the peer; None where it cannot be installed."""
    if package is None:
        return sys.executable
    home = folder / package
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    command = [python, "-m", "pip", "install", "--quiet", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"{package} is left out, it cannot be installed: {why}", file=sys.stderr)
        return None
    return str(python)


def measured(python: str, adapter: str) -> dict[str, object] | None:
    """What one process has measured; None where it failed."""
    command = [python, str(HERE / "peers" / f"{adapter}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        print(f"{adapter} failed:\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    found: dict[str, object] = json.loads(done.stdout)
    return found


def all_of(pythons: dict[str, str], rounds: int) -> dict[str, dict[str, object]]:
    """For each peer its version, and the median of each kind of work, in seconds."""
    taken: dict[str, list[dict[str, object]]] = {adapter: [] for adapter in pythons}
    for _ in range(rounds):
        for adapter, python in pythons.items():
            if (found := measured(python, adapter)) is not None:
                taken[adapter].append(found)
    found = {}
    for adapter, several in taken.items():
        if several:
            kinds = [kind for kind in WORK if kind in several[0]]
            middle = {kind: median(float(str(one[kind])) for one in several) for kind in kinds}
            found[PEERS[adapter][0]] = {"version": several[0]["version"], **middle}
    return found


def table(found: dict[str, dict[str, object]]) -> str:
    """Markdown: microseconds for one call, and how many of ours that is."""
    lines = ["| µs for one call | " + " | ".join(WORK.values()) + " |", "|---|" + "--:|" * len(WORK)]
    ours = found.get("toolexec", {})
    for name, told in found.items():
        cells = []
        for kind in WORK:
            if kind not in told:
                cells.append("")
                continue
            value = float(str(told[kind]))
            times = f" (x {value / float(str(ours[kind])):.1f})" if kind in ours and name != "toolexec" else ""
            cells.append(f"{value * 1e6:.1f}{times}")
        lines.append(f"| {name} {told['version']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(found: dict[str, dict[str, object]]) -> str:
    """An SVG with a bar for each figure, on a logarithmic scale; readable on light and on dark pages."""
    from math import log10
    from xml.sax.saxutils import escape

    bars = [
        (WORK[kind] if place == 0 else "", name, float(str(told[kind])) * 1e6)
        for kind in WORK
        for place, (name, told) in enumerate((name, told) for name, told in found.items() if kind in told)
    ]
    most = max(value for _, _, value in bars)
    height = sum(44 if heading else 22 for heading, _, _ in bars) + 16
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" viewBox="0 0 720 {height}" role="img" '
        'font-family="sans-serif" font-size="13"><title>Microseconds for one call, logarithmic scale</title>\n'
        "<style>text{fill:#222}.o{fill:#2563eb}.p{fill:#9aa4b2}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}.o{fill:#60a5fa}.p{fill:#667}}</style>"
    )
    lines, y = [head], 0
    for heading, name, value in bars:
        if heading:
            lines.append(f'<text x="0" y="{y + 18}" font-weight="bold">{escape(heading)}</text>')
            y += 22
        width = max(2.0, 400 * log10(max(value, 1.01)) / log10(most))
        kind = "o" if name == "toolexec" else "p"
        lines.append(f'<text x="170" y="{y + 16}" text-anchor="end">{escape(name)}</text>')
        lines.append(f'<rect class="{kind}" x="180" y="{y + 4}" width="{width:.0f}" height="15" rx="2"/>')
        lines.append(f'<text x="{186 + width:.0f}" y="{y + 16}">{value:.1f} µs</text>')
        y += 22
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--venvs", type=Path, default=HERE / ".venvs", help="where the peers are installed")
    parser.add_argument("--svg", type=Path, help="draw them there")
    chosen = parser.parse_args()
    pythons = {}
    for adapter, (_, package) in PEERS.items():
        python = interpreter(chosen.venvs, package)
        if python is not None:
            pythons[adapter] = python
    found = all_of(pythons, chosen.rounds)
    print(table(found))
    if chosen.svg is not None:
        chosen.svg.parent.mkdir(parents=True, exist_ok=True)
        chosen.svg.write_text(picture(found), encoding="utf-8")
    return 0 if len(found) == len(PEERS) else 1


if __name__ == "__main__":
    sys.exit(main())
