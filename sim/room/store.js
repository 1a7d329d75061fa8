// What the page knows, in one object; whoever shows a part of it is drawn anew when it changes.

import {isReport} from './recorded.js';
import {useLayoutEffect, useReducer, useRef} from './vendor/preact-htm.js';

export const state = {
  connection: 'lost', // live | lost
  needsToken: false,
  health: null, // {scenario, seed, reading}
  finished: isReport, // a run that is over takes no changes
  clock: null, // {now, mode, next_due}
  seen: 0, // when this page heard of `clock`, in ms of performance.now()
  branch: '', // the running one
  looked: '', // the branch that is looked at; '' is the running one
  first: 0,
  last: 0, // last input of the branch that is looked at
  digest: '',
  moment: null, // the input after which everything is shown; null is now
  momentAt: null, // its instant
  chosen: null, // the row whose detail is shown
  symbol: '',
  stream: null, // whose last frames are shown
  figured: '', // the account whose figures are shown
  version: 0, // counts what may have changed the present
  script: {steps: [], failed: 0},
  lastCall: null,
  busy: 0,
  asking: null, // a question that waits for yes or no
  tab: 'script',
  narrow: false, // parts stand behind tabs
  slim: false, // and tables leave columns out
  playing: 0, // speed of a replay
  tour: -1, // step of the tour
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

// The values of some keys; the component is drawn anew when one of them changes.
export function useKeys(...keys) {
  const [, redraw] = useReducer(count => count + 1, 0);
  const shown = useRef(null);
  shown.current = keys.map(key => state[key]);
  useLayoutEffect(() => {
    const look = () => {
      if (keys.some((key, place) => !Object.is(state[key], shown.current[place]))) redraw();
    };
    look(); // what has changed since it was drawn
    return subscribe(look);
  }, []);
  return Object.fromEntries(keys.map((key, place) => [key, shown.current[place]]));
}
