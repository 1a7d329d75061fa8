// Reads a view of the exchange at the moment that is looked at, and again when that changes.

import {ask, query} from './control.js';
import {branchQuery} from './run.js';
import {state, useKeys} from './store.js';
import {useEffect, useReducer, useRef} from './vendor/preact-htm.js';

const NOTHING = {rows: null, seq: NaN, problem: '', key: ''};

// Reads one address at a time: while an answer is under way only the newest wish is kept.
class Reader {
  constructor(changed) {
    this.changed = changed;
    this.shown = NOTHING;
    this.wish = null;
    this.busy = false;
    this.ended = false;
  }

  async want(wish) {
    this.wish = wish;
    if (this.busy) return;
    this.busy = true;
    while (this.wish && this.wish.key !== this.shown.key && !this.ended) {
      const {key, path, of, moment, subject} = this.wish;
      try {
        const {value, seq} = await ask(path);
        const rows = of ? value[of] : value;
        this.shown = {rows, seq: moment ?? (Number.isFinite(seq) ? seq : state.last), problem: '', key, subject};
      } catch (problem) {
        this.shown = {...this.shown, problem: problem.message, key, subject};
        if (problem.status === 404) this.shown.rows = null;
      }
      if (!this.ended) this.changed();
    }
    this.busy = false;
  }
}

function useReader(wish) {
  const [, redraw] = useReducer(count => count + 1, 0);
  const reader = useRef(null);
  if (!reader.current) reader.current = new Reader(redraw);
  useEffect(() => {
    reader.current.ended = false;
    return () => { reader.current.ended = true; };
  }, []);
  useEffect(() => { if (wish) reader.current.want(wish); }, [wish && wish.key]);
  const {shown} = reader.current;
  return wish && shown.subject !== wish.subject ? NOTHING : shown;
}

// {rows, seq, problem} of GET /state/{name}, narrowed by `only`; rows are null before the first answer.
export function useView(name, only = {}) {
  const {moment, version, looked, connection} = useKeys('moment', 'version', 'looked', 'connection');
  const base = moment === null ? '/state/' : `/history/${moment}/state/`;
  const path = base + name + query(moment === null ? only : {...only, ...branchQuery()});
  const subject = name + query(only); // rows of another instrument or account are not shown meanwhile
  const wish = {path, of: name, subject, moment, key: moment === null ? `${path} ${version} ${connection}` : path + looked};
  return useReader(name ? wish : null);
}

// The same for what is known of the present only.
export function usePresent(path, of) {
  const {version, connection} = useKeys('version', 'connection');
  return useReader(path ? {path, of, moment: null, key: `${path} ${version} ${connection}`} : null);
}

// One answer that does not change.
export const useOnce = (path, of) => useReader(path ? {path, of, moment: null, key: path} : null);
