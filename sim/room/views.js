// Reads views of the exchange at the moment shown, and reads them again when the moment changes.
//
// Panels that are drawn together share requests: the views of one moment with the same filters are one
// request. While a request runs, each panel remembers only the last view that it needed. A slow
// request for a moment that is no longer shown is aborted.

import {ask, query} from './control.js';
import {branchQuery} from './run.js';
import {patch, state, useKeys} from './store.js';
import {useLayoutEffect, useReducer, useRef} from './vendor/preact-htm.js';

const NOTHING = {rows: null, seq: NaN, problem: '', key: ''};
const LONG_MS = 300; // a request that takes longer may be aborted

// Reads one path at a time for one component. While a request runs, only the last wish is remembered.
class Reader {
  constructor(changed) {
    this.changed = changed;
    this.shown = NOTHING;
    this.wish = null;
    this.busy = false;
    this.ended = false;
  }

  get late() {
    return !this.ended && this.wish && this.wish.key !== this.shown.key;
  }

  end() {
    this.ended = true;
  }

  async want(wish) {
    this.wish = wish;
    if (this.busy) return;
    this.busy = true;
    while (this.late) {
      const {key, path, of, moment, subject} = this.wish;
      try {
        const {value, seq} = await ask(path);
        const rows = of ? value[of] : value;
        this.shown = {rows, seq: moment ?? (Number.isFinite(seq) ? seq : state.last), problem: '', key, subject};
      } catch (problem) {
        this.refuse(this.wish.key === key ? this.wish : {key, subject}, problem);
      }
      if (!this.ended) this.changed();
    }
    this.busy = false;
  }

  refuse({key, subject}, problem) {
    this.shown = {...this.shown, problem: problem.message, key, subject};
    if (problem.status === 404) this.shown.rows = null;
  }
}

// Reads a view in one request with the views that other components need of the same moment.
class Viewer extends Reader {
  want(wish) {
    this.wish = wish;
    looks.want(this);
  }

  end() {
    super.end();
    looks.viewers.delete(this);
  }
}

// The requests of all viewers.
const looks = {
  viewers: new Set(),
  busy: false,
  planned: false,
  under: null, // {moment, since, abort} of the requests that run

  want(viewer) {
    this.viewers.add(viewer);
    if (this.busy) this.hurry();
    else if (!this.planned) {
      this.planned = true;
      queueMicrotask(() => this.go()); // components drawn in the same task share requests
    }
  },

  // Aborts a slow request for a moment that is no longer shown.
  hurry() {
    const {under} = this;
    if (!under || under.moment === null || under.moment === state.moment || under.timer) return;
    const left = Math.max(0, LONG_MS - (performance.now() - under.since));
    under.timer = setTimeout(() => under.moment !== state.moment && under.abort.abort(), left);
  },

  async go() {
    this.planned = false;
    if (this.busy) return;
    this.busy = true;
    for (;;) {
      const late = [...this.viewers].filter(viewer => viewer.late);
      if (!late.length) break;
      this.under = {moment: state.moment, since: performance.now(), abort: new AbortController()};
      await Promise.all(alike(late).map(group => this.look(group)));
      clearTimeout(this.under.timer);
    }
    this.under = null;
    this.busy = false;
  },

  async look(group, alone = false) {
    const wishes = group.map(viewer => viewer.wish);
    const [{base, narrowed, moment}] = wishes;
    const views = [...new Set(wishes.map(wish => wish.of).filter(Boolean))].map(name => 'view=' + name);
    const path = base + [narrowed, ...views].filter(Boolean).join('&');
    try {
      const {value} = await ask(path, this.under.abort.signal);
      if (moment === state.moment) patch({momentAt: moment === null ? null : value.at});
      group.forEach((viewer, place) => {
        const {key, of, subject} = wishes[place];
        viewer.shown = {rows: of ? value[of] : value, seq: value.seq, problem: '', key, subject};
      });
    } catch (problem) {
      if (problem.name === 'AbortError') return; // `go` sends the newest wishes next
      if (group.length > 1 && !alone) {
        for (const viewer of group) await this.look([viewer], true); // find the view that failed
        return;
      }
      group.forEach((viewer, place) => viewer.refuse(wishes[place], problem));
    }
    for (const viewer of group) if (!viewer.ended) viewer.changed();
  },
};

// Groups viewers by moment and filters. A viewer that needs only the moment joins any group of it.
function alike(viewers) {
  const groups = new Map();
  for (const viewer of viewers.sort((one, other) => Boolean(other.wish.of) - Boolean(one.wish.of))) {
    const {base, narrowed, of, group = base + narrowed} = viewer.wish;
    const known = of ? groups.get(group) : [...groups.values()].find(([other]) => other.wish.base === base);
    if (known) known.push(viewer);
    else groups.set(group, [viewer]);
  }
  return [...groups.values()];
}

function useReader(wish, Kind = Reader) {
  const [, redraw] = useReducer(count => count + 1, 0);
  const reader = useRef(null);
  if (!reader.current) reader.current = new Kind(redraw);
  useLayoutEffect(() => {
    reader.current.ended = false;
    return () => reader.current.end();
  }, []);
  useLayoutEffect(() => { if (wish) reader.current.want(wish); }, [wish && wish.key]);
  const {shown} = reader.current;
  return wish && shown.subject !== wish.subject ? NOTHING : shown;
}

// Returns {rows, seq, problem} of a view with the filters `only`; `rows` is null before the first
// answer. Without a name, `rows` describes the moment itself: {seq, at, branch, digest}.
export function useView(name, only = {}) {
  const {moment, version, looked, connection} = useKeys('moment', 'version', 'looked', 'connection');
  const narrowed = query(moment === null ? only : {...only, ...branchQuery()}).slice(1);
  const base = moment === null ? '/state?' : `/history/${moment}/state?`;
  const subject = name + query(only); // while it loads, rows of another instrument are not shown
  const key = `${base} ${narrowed} ${moment === null ? `${version} ${connection}` : looked}`;
  return useReader(name === '' ? null : {base, narrowed, of: name || '', subject, moment, key: `${name} ${key}`}, Viewer);
}

// Returns {seq, at, branch, digest} of the moment shown, as `rows` of a view.
export const useMoment = () => useView(undefined);

// Like useView, for paths that exist for the present only.
export function usePresent(path, of) {
  const {version, connection} = useKeys('version', 'connection');
  return useReader(path ? {path, of, moment: null, key: `${path} ${version} ${connection}`} : null);
}

// Like useView, for an answer that never changes: it is read once.
export const useOnce = (path, of) => useReader(path ? {path, of, moment: null, key: path} : null);
