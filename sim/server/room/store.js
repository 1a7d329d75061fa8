// The state of the page, in one object. A component that uses a key is redrawn when the value
// changes.

import {isReport} from './recorded.js';
import {useLayoutEffect, useReducer, useRef} from './vendor/preact-htm.js';

export const state = {
  connection: 'lost', // live | lost
  needsToken: false,
  health: null, // {scenario, seed, reading}
  finished: isReport, // the run is over and cannot be changed
  clock: null, // {now, mode, next_due}
  clockReceivedAt: 0, // when the page received `clock`, in ms of performance.now()
  branch: '', // the running branch
  viewedBranch: '', // the branch shown; '' is the running branch
  first: 0,
  last: 0, // the last input of the branch shown
  digest: '',
  moment: null, // the input after which everything is shown; null is now
  momentAt: null, // the instant of `moment`
  chosen: null, // the input whose detail is shown
  symbol: '',
  stream: null, // the stream whose last frames are shown
  figuresAccount: '', // the account whose figures are shown
  version: 0, // increases whenever the present state may have changed
  script: {steps: [], failed: 0},
  lastCall: null,
  busy: 0,
  confirmation: null, // the open confirmation dialog
  tab: 'script',
  narrow: false, // the screen has room for one panel: all panels are tabs
  slim: false, // the screen is narrower still: tables omit columns
  playing: 0, // speed of a replay; 0 is stopped
  tour: -1, // step of the guided tour; -1 is closed
};

const listeners = new Set();

export function patch(changes) {
  let changed = false;
  for (const [key, value] of Object.entries(changes)) {
    if (Object.is(state[key], value)) continue;
    state[key] = value;
    changed = true;
  }
  if (changed) for (const listener of [...listeners]) listener();
}

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// Returns the values of some keys. The component is redrawn when one of them changes.
export function useKeys(...keys) {
  const [, redraw] = useReducer(count => count + 1, 0);
  const drawn = useRef(null);
  drawn.current = keys.map(key => state[key]);
  useLayoutEffect(() => {
    const check = () => {
      if (keys.some((key, place) => !Object.is(state[key], drawn.current[place]))) redraw();
    };
    check(); // a value may have changed since the component was drawn
    return subscribe(check);
  }, []);
  return Object.fromEntries(keys.map((key, place) => [key, drawn.current[place]]));
}
