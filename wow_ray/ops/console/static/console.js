// Keeps a page fresh and its keys at hand. Without it everything is shown and asked for all the same.
"use strict";
(() => {
  const body = document.body;
  const from = body.dataset.liveFrom;
  const STALE = 15000; // ms without a word from the server, after which nobody should act on what is shown
  let heard = Date.now();
  let frozen = false;
  let fetching = false;
  let leaving = false; // whoever is on the way to another page is not called back by a fresh one
  window.addEventListener("beforeunload", () => {
    leaving = true;
    setTimeout(() => { leaving = false; }, 10000); // a download leaves nothing
  });

  // --- fresh

  const swap = (fresh) => {
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(old.id);
      if (!now) { if (old.id === "actions") location.reload(); else old.replaceChildren(); continue; }
      if (old.isEqualNode(now)) continue;
      for (const open of old.querySelectorAll("details[open][id]")) {
        const twin = now.querySelector("#" + CSS.escape(open.id));
        if (twin) twin.open = true; // what somebody has opened stays so
      }
      if ("form" in old.dataset && isInUse(old, now)) continue;
      if (old.contains(document.activeElement) && old.dataset.form === undefined) {
        keepFocus(old, now);
        continue;
      }
      old.replaceWith(document.adoptNode(now));
    }
    for (const stale of fresh.querySelectorAll("[data-live]")) {
      if (document.getElementById(stale.id)) continue;
      // A section that was not there before: the page has changed in kind.
      const before = stale.previousElementSibling && document.getElementById(stale.previousElementSibling.id);
      if (before) before.after(document.adoptNode(stale));
    }
  };

  // A form that somebody writes in stays; the row it was about may have changed, and then it says so.
  const isInUse = (old, now) => {
    const written = [...old.querySelectorAll("input:not([type=hidden])")].some((field) => field.value !== "");
    if (!written && !old.contains(document.activeElement)) {
      const open = [...old.querySelectorAll("details")].map((each) => each.open);
      [...now.querySelectorAll("details")].forEach((each, place) => { each.open = open[place]; });
      return false;
    }
    const etag = (of) => { const form = of.querySelector("[data-etag]"); return form && form.dataset.etag; };
    if (etag(old) !== etag(now) && !old.querySelector(".changed")) {
      const said = document.createElement("p");
      said.className = "notice warn changed";
      said.setAttribute("role", "status");
      said.textContent = "It has changed since you began to write: look at it again. What you send now would be refused.";
      old.prepend(said);
    }
    return true;
  };

  const keepFocus = (old, now) => {
    const links = [...old.querySelectorAll("a, button, summary, [tabindex]")];
    const place = links.indexOf(document.activeElement);
    const fresh = document.adoptNode(now);
    old.replaceWith(fresh);
    const target = [...fresh.querySelectorAll("a, button, summary, [tabindex]")][place];
    if (target) target.focus({ preventScroll: true });
  };

  const refresh = async () => {
    if (fetching || leaving || document.hidden) return;
    fetching = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
      const text = await answer.text();
      if (leaving) return;
      if (answer.redirected && new URL(answer.url).pathname.endsWith("/login")) { location.reload(); return; }
      if (!answer.ok) return;
      swap(new DOMParser().parseFromString(text, "text/html"));
      heard = Date.now();
      thaw();
    } catch { /* away; the watch below tells */ } finally { fetching = false; }
  };

  const freeze = () => {
    const bar = document.getElementById("stale");
    const seconds = Math.round((Date.now() - heard) / 1000);
    bar.hidden = false;
    bar.textContent = `Nothing was heard for ${seconds} s. What is shown may be over, so nothing can be asked until the server answers.`;
    frozen = true;
    for (const each of document.querySelectorAll("fieldset[data-act]")) each.disabled = true;
  };

  const thaw = () => {
    if (!frozen) return;
    frozen = false;
    document.getElementById("stale").hidden = true;
    for (const each of document.querySelectorAll("fieldset[data-act]")) each.disabled = false;
  };

  if (from && window.EventSource) {
    const source = new EventSource(from);
    source.addEventListener("changed", refresh);
    source.addEventListener("beat", () => { heard = Date.now(); if (frozen) refresh(); });
    window.addEventListener("pagehide", () => source.close());
    // Ages grow although nothing changes; and where events do not come through, this alone keeps the page fresh.
    setInterval(refresh, 10000);
    setInterval(() => { if (!document.hidden && Date.now() - heard > STALE) freeze(); }, 1000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  }

  // --- forms

  document.addEventListener("submit", (event) => {
    if (frozen && event.target.matches(".act")) { event.preventDefault(); return; }
    // Once is enough; the request id would make a second one the first, but nobody should wonder.
    setTimeout(() => event.target.querySelectorAll("button").forEach((each) => { each.disabled = true; }), 0);
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  if (location.hash === "#said") { const said = document.getElementById("said"); if (said) said.focus(); }

  // --- keys

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, select, textarea");
    if (field) { if (event.key === "Escape") field.blur(); return; }
    if (event.key === "j" || event.key === "k") { step(event.key === "j" ? 1 : -1); event.preventDefault(); return; }
    const wanted = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === event.key);
    if (!wanted) return;
    event.preventDefault();
    if (wanted.matches("a")) { wanted.click(); return; }
    if (wanted.matches("button")) { const reason = wanted.form.querySelector("[name=reason]"); (reason || wanted).focus(); return; }
    const closed = wanted.closest("details:not([open])");
    if (closed) closed.open = true;
    wanted.focus();
  });

  const step = (by) => {
    const rows = [...document.querySelectorAll("main tbody tr")].map((row) => row.querySelector("a")).filter(Boolean);
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by))].focus();
  };
})();
