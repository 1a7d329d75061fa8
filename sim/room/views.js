// Reads views of the exchange at the moment that is looked at, and again when that changes.
//
// Everything that is drawn together is one look: the panels say what they want, and the views of one
// moment that are narrowed alike are one request. While an answer is under way only the newest wish
// is kept; one that takes long for a moment that nobody wants any more is given up.

import {ask, query} from './control.js';
import {branchQuery} from './run.js';
import {patch, state, useKeys} from './store.js';
import {useLayoutEffect, useReducer, useRef} from './vendor/preact-htm.js';

const NOTHING = {rows: null, seq: NaN, problem: '', key: ''};
const LONG_MS = 300; // a look takes long after this

// Reads one address at a time: while an answer is under way only the newest wish is kept.
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

// Reads a view together with what others want of the same moment.
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
  under: null, // {moment, since, abort} of the look under way

  want(viewer) {
    this.viewers.add(viewer);
    if (this.busy) this.hurry();
    else if (!this.planned) {
      this.planned = true;
      queueMicrotask(() => this.go()); // what is drawn together asks together
    }
  },

  // Give up what takes long for a moment that was passed over.
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
      if (problem.name === 'AbortError') return; // the newest wishes are asked for next
      if (group.length > 1 && !alone) {
        for (const viewer of group) await this.look([viewer], true); // one of them has it
        return;
      }
      group.forEach((viewer, place) => viewer.refuse(wishes[place], problem));
    }
    for (const viewer of group) if (!viewer.ended) viewer.changed();
  },
};

// Viewers by moment and narrowing; who wants no view, only the moment, goes with anybody.
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

// {rows, seq, problem} of a view, narrowed by `only`; rows are null before the first answer. Without
// a name it is the moment alone: {seq, at, branch, digest}.
export function useView(name, only = {}) {
  const {moment, version, looked, connection} = useKeys('moment', 'version', 'looked', 'connection');
  const narrowed = query(moment === null ? only : {...only, ...branchQuery()}).slice(1);
  const base = moment === null ? '/state?' : `/history/${moment}/state?`;
  const subject = name + query(only); // rows of another instrument or account are not shown meanwhile
  const key = `${base} ${narrowed} ${moment === null ? `${version} ${connection}` : looked}`;
  return useReader(name === '' ? null : {base, narrowed, of: name || '', subject, moment, key: `${name} ${key}`}, Viewer);
}

// The moment that is looked at.
export const useMoment = () => useView(undefined);

// The same for what is known of the present only.
export function usePresent(path, of) {
  const {version, connection} = useKeys('version', 'connection');
  return useReader(path ? {path, of, moment: null, key: `${path} ${version} ${connection}`} : null);
}

// One answer that does not change.
export const useOnce = (path, of) => useReader(path ? {path, of, moment: null, key: path} : null);
