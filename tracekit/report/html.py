"""The report as one page that opens offline: the same sentences and tables, with the charts of its answers."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import polars as pl

from tracekit.errors import UsageError
from tracekit.foreign import plain, plain_frame, terminal
from tracekit.output import TABLE_MARK, tables_kept

_TABLE = re.compile(f"{TABLE_MARK}(\\d+){TABLE_MARK}")
_NUMBER = re.compile(r"\s*[+-]?[\d,.]+( ?(%|ns|µs|ms|s|min|h))?\s*\Z")
_SECTION = re.compile(r'<section id="([^"]+)">\n<h2>(.*?)</h2>')
_NEEDS = "the charts of a page are drawn by vega, which vl-convert-python brings: install tracekit-stages[report]"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:"


def section_html(heading: str, lay_out: Callable[[], str], chart: Any = None) -> str:
    """A section of the page: its heading, what `lay_out` says before its first table, the Altair chart, and the rest,
    tables as tables."""
    with tables_kept() as kept:
        text = lay_out()
    title = html.escape(plain(heading))
    pieces = _TABLE.split(text)
    parts = [f"<h2>{title}</h2>", *_paragraphs(pieces[0])]
    parts += [] if chart is None else [_figure(title, chart)]
    for number, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        parts += [_table(kept[int(number)]), *_paragraphs(piece)]
    return f'<section id="{_anchor(heading)}">\n' + "\n".join(parts) + "\n</section>"


def _anchor(heading: str) -> str:
    """What a link inside the page calls a section."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") or "section"


def _contents(body: str) -> str:
    """Links to the sections of a page."""
    links = (f'<li><a href="#{anchor}">{title}</a></li>' for anchor, title in _SECTION.findall(body))
    return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'


def _paragraphs(text: str) -> list[str]:
    blocks = [block.strip("\n") for block in terminal(text).split("\n\n")]
    return [f"<p>{html.escape(block).replace(chr(10), '<br>')}</p>" for block in blocks if block.strip()]


def _table(frame: pl.DataFrame) -> str:
    shown = plain_frame(frame)
    head = "".join(f"<th scope=col>{html.escape(plain(name))}</th>" for name in shown.columns)
    rows = ("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in shown.iter_rows())
    return f"<div class=table><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:,}" if isinstance(value, int) and value is not True else str(value)
    kind = " class=number" if _NUMBER.match(text) else ""
    return f"<td{kind}>{html.escape(plain(text.strip()))}</td>"


def _figure(title: str, chart: Any) -> str:
    """A chart as the data that the page's script draws; `<` cannot end the element that it stands in."""
    spec = chart.to_dict() | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    told = json.dumps(spec, ensure_ascii=True).replace("<", "\\u003c")
    return (
        f'<figure><div class=chart role=img aria-label="Chart: {title}"></div>'
        f'<script type="application/json">{told}</script></figure>'
    )


def page(body: str, *, title: str) -> str:
    """The whole file around the sections of a report. Raises `UsageError` where what draws the charts is missing."""
    return _PAGE.format(
        policy=_POLICY,
        title=html.escape(plain(title)),
        style=_STYLE,
        body=_contents(body) + body,
        vega=_vega_script(),
        draw=_DRAW,
    )


def check_drawable() -> None:
    """Raise `UsageError` where what draws the charts of a page is missing."""
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise UsageError(_NEEDS) from error


def _vega_script() -> str:
    check_drawable()
    import altair
    import vl_convert

    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    # An end of the element inside a string of the script would end it for the browser.
    # Its types ask for a snippet, which has a default.
    script = vl_convert.javascript_bundle(vl_version=version)  # type: ignore[call-arg]
    return str(script).replace("</script", "<\\/script")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
<script type="module">{vega}</script>
<script type="module">{draw}</script>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --ink: #0b1017; --soft: #55606e; --line: #dfe4ea; --ground: #fff; --head: #f4f6f9;
  --link: #2f62b5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe5ee; --soft: #a3adba; --line: #323b48; --ground: #14181f; --head: #1d232d;
    --link: #8fb4f5; }
}
body { font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); margin: 0; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }
p { max-width: 62rem; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; padding: .6rem 0; margin: 0;
  border-block: 1px solid var(--line); font-size: .88rem; }
nav a { color: var(--link); }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .28rem .7rem; text-align: left; vertical-align: top; }
th { background: var(--head); font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1rem 0; } .chart { width: 100%; }
@media print { section { break-inside: avoid; } }
"""

_DRAW = """
const dark = matchMedia("(prefers-color-scheme: dark)");
function draw() {
  const style = getComputedStyle(document.documentElement);
  const [ink, soft, line] = ["--ink", "--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
  const axis = { labelColor: ink, titleColor: soft, gridColor: line, domainColor: line, tickColor: line };
  const legend = { labelColor: ink, titleColor: soft };
  const config = { background: "transparent", axis, legend, view: { stroke: null }, title: { color: ink } };
  const actions = { export: { svg: true, png: true }, source: false, compiled: false, editor: false };
  for (const figure of document.querySelectorAll("figure")) {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    window.vegaEmbed(figure.querySelector(".chart"), spec, { renderer: "svg", actions, config });
  }
}
dark.addEventListener("change", draw);
draw();
"""
