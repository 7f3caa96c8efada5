"""An audit of a page as it is drawn: what people need who do not see it, see little of it, or use no mouse.

Written by hand after the rules of WCAG 2.2 that a machine can judge: language and title, one main heading and no level
left out, names of controls, labels of fields, headers of tables, alternatives of images, unique ids, contrast of every
text against what is drawn behind it, the size of what is pressed, and nothing wider than the window.
"""

from __future__ import annotations

from playwright.async_api import Page

SCRIPT = r"""
() => {
  const found = [];
  const seen = (e) => { const r = e.getBoundingClientRect(); const s = getComputedStyle(e);
    const closed = e.closest("details:not([open]) > :not(summary)");
    return r.width > 1 && r.height > 1 && s.visibility !== "hidden" && !closed; };
  const say = (what, e) => found.push(what + ": " + (e ? e.outerHTML.slice(0, 120) : ""));
  if (!document.documentElement.lang) say("no language");
  if (!document.title) say("no title");
  if (document.querySelectorAll("main").length !== 1) say("not one main");
  if (document.querySelectorAll("h1").length !== 1) say("not one h1");
  let level = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) say("a level of headings is left out", h);
    level = now;
  }
  const text = (e) => (e.getAttribute("aria-label") || e.textContent || e.getAttribute("title") || "").trim();
  for (const e of document.querySelectorAll("a, button, summary")) if (!text(e)) say("no name", e);
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!e.labels || !e.labels.length) say("no label", e);
  for (const e of document.querySelectorAll("svg:not([aria-hidden]), img"))
    if (!["aria-label", "aria-labelledby", "alt"].some((name) => e.getAttribute(name))) say("no alternative", e);
  for (const t of document.querySelectorAll("table")) if (!t.querySelector("th[scope=col]")) say("no headers", t);
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) say("an order of its own", e);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) say("an id twice " + ids.filter((id, n) => ids.indexOf(id) !== n));
  for (const e of document.querySelectorAll("[aria-labelledby], [aria-describedby]"))
    for (const id of (e.getAttribute("aria-labelledby") || e.getAttribute("aria-describedby")).split(" "))
      if (!document.getElementById(id)) say("named by what is not there", e);
  const parsed = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const light = ([r, g, b]) => {
    const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const behind = (e) => { for (let n = e; n; n = n.parentElement) {
    const c = parsed(getComputedStyle(n).backgroundColor);
    if (c[3] > 0.99) return c; } return [255, 255, 255, 1]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement;
    if (!n.data.trim() || !e || e.closest("script, .unseen, .skip, :disabled, option, datalist") || !seen(e)) continue;
    const a = light(parsed(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) say("contrast " + ratio.toFixed(2), e);
  }
  for (const e of document.querySelectorAll("button, input:not([type=hidden]), select")) {
    const r = e.getBoundingClientRect();
    if (seen(e) && e.type !== "checkbox" && r.height < 24) say("too small to press", e);
  }
  const over = document.documentElement.scrollWidth - window.innerWidth;
  if (over > 0) say("wider than the window by " + over);
  return found;
}
"""


async def audited(page: Page) -> list[str]:
    """Judge a page; gives what is wrong with it, with every part of it opened."""
    await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found: list[str] = await page.evaluate(SCRIPT)
    return found
