// Line charts over virtual time, such as the price of an instrument. The plot library is loaded
// when the first chart is drawn.

import {inEastern, ms} from '../format.js';
import {colourOf} from '../theme.js';
import {html, useEffect, useReducer, useRef} from '../vendor/preact-htm.js';

const NO_SECONDS_ABOVE = 600_000; // above this span, in ms, the axis shows no seconds

// Returns the number of decimals at which the labels of an axis differ.
const decimalsOf = ticks => Math.max(0, Math.min(4, Math.ceil(-Math.log10((ticks[1] ?? 1) - (ticks[0] ?? 0)) - 1e-9)));

let library = null;
const loadLibrary = () => (library ||= import('../vendor/uplot.js').then(found => found.default));

function options(width, height, box, series) {
  const grid = {stroke: colourOf(box, '--line'), width: 1};
  const axis = {stroke: colourOf(box, '--faint'), grid, ticks: {show: false}, font: '11px system-ui'};
  return {
    width, height, legend: {show: false}, cursor: {y: false, points: {size: 5}},
    scales: {x: {time: false}},
    axes: [
      {...axis, size: 22, space: 70, values: (_, ticks) => ticks.map(at => inEastern(at).time.slice(0, ticks.at(-1) - ticks[0] > NO_SECONDS_ABOVE ? 5 : 8))},
      {...axis, size: 52, space: 24, values: (_, ticks) => ticks.map(value => value.toFixed(decimalsOf(ticks)))},
    ],
    series: [{}, ...series.map(({colour, steps}) => ({
      stroke: colourOf(box, colour), width: 1.5, points: {show: true, size: 4}, spanGaps: false, ...(steps ? {paths: steps} : {}),
    }))],
  };
}

// A line chart. `at` are instants in ms. A series is {name, colour, values}, where a missing value
// is null.
export function Plot({at, series, label, testid, empty, height = 120, stepped}) {
  const box = useRef(null), plot = useRef(null), drawnThemes = useRef(0); // the value of `themes` when it was drawn
  const [themes, repaint] = useReducer(count => count + 1, 0);
  const key = at.join() + '|' + series.map(one => one.values.join()).join('|');
  useEffect(() => {
    let cancelled = false;
    if (at.length < 2) {
      plot.current?.destroy();
      plot.current = null;
      return undefined;
    }
    loadLibrary().then(UPlot => {
      if (cancelled || !box.current) return;
      if (plot.current && drawnThemes.current === themes) {
        plot.current.setData([at, ...series.map(one => one.values)]);
        return;
      }
      drawnThemes.current = themes;
      plot.current?.destroy();
      box.current.replaceChildren();
      const steps = stepped && UPlot.paths.stepped({align: 1});
      const shape = options(box.current.clientWidth, height, box.current, series.map(one => ({...one, steps})));
      plot.current = new UPlot(shape, [at, ...series.map(one => one.values)], box.current);
    });
    return () => { cancelled = true; };
  }, [key, themes]);
  useEffect(() => {
    const watch = new ResizeObserver(() => plot.current?.setSize({width: box.current.clientWidth, height}));
    watch.observe(box.current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', repaint);
    addEventListener('themechange', repaint);
    return () => {
      watch.disconnect();
      dark.removeEventListener('change', repaint);
      removeEventListener('themechange', repaint);
      plot.current?.destroy();
    };
  }, []);
  return html`<div class="chart" role="img" style=${{minHeight: height + 6 + 'px'}} data-testid=${testid} data-points=${at.length} aria-label=${label}>
    <div ref=${box} class="plot"></div>
    ${at.length < 2 && html`<span class="faint">${empty}</span>`}</div>`;
}

// The price of an instrument, from its trades.
export const Chart = ({trades, symbol, height}) => html`<${Plot} height=${height} testid="chart" label=${`Price of ${symbol}: ${trades.length} trades`}
  at=${trades.map(one => ms(one.at))} series=${[{colour: '--accent', values: trades.map(one => Number(one.price))}]}
  empty="The price chart begins with the second trade." />`;
