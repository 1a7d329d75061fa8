// The price of an instrument over virtual time, from its trades. The plot library is loaded when a
// chart is first drawn.

import {inEastern, ms} from '../format.js';
import {colourOf} from '../theme.js';
import {html, useEffect, useReducer, useRef} from '../vendor/preact-htm.js';

const MINUTES = 600_000; // above this span, in ms, the axis shows no seconds

let library = null;
const plots = () => (library ||= import('../vendor/uplot.js').then(found => found.default));

function options(width, height, box) {
  const grid = {stroke: colourOf(box, '--line'), width: 1};
  const axis = {stroke: colourOf(box, '--faint'), grid, ticks: {show: false}, font: '11px system-ui'};
  return {
    width, height, legend: {show: false}, cursor: {y: false, points: {size: 5}},
    scales: {x: {time: false}},
    axes: [
      {...axis, size: 22, space: 70, values: (_, ticks) => ticks.map(at => inEastern(at).time.slice(0, ticks.at(-1) - ticks[0] > MINUTES ? 5 : 8))},
      {...axis, size: 44, values: (_, ticks) => ticks.map(price => price.toFixed(price % 0.01 ? 3 : 2))},
    ],
    series: [{}, {stroke: colourOf(box, '--accent'), width: 1.5, points: {show: true, size: 4}}],
  };
}

export function Chart({trades, symbol}) {
  const box = useRef(null), plot = useRef(null);
  const [themes, repaint] = useReducer(count => count + 1, 0);
  const points = trades.map(one => [ms(one.at), Number(one.price)]);
  const key = points.map(point => point.join()).join(' ');
  useEffect(() => {
    let over = false;
    if (points.length < 2) {
      plot.current?.destroy();
      plot.current = null;
      return undefined;
    }
    plots().then(UPlot => {
      if (over || !box.current) return;
      const data = [points.map(([at]) => at), points.map(([, price]) => price)];
      plot.current?.destroy();
      box.current.replaceChildren();
      plot.current = new UPlot(options(box.current.clientWidth, 120, box.current), data, box.current);
    });
    return () => { over = true; };
  }, [key, themes]);
  useEffect(() => {
    const watch = new ResizeObserver(() => plot.current?.setSize({width: box.current.clientWidth, height: 120}));
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
  return html`<div class="chart" role="img" data-testid="chart" data-points=${points.length}
    aria-label=${`Price of ${symbol}: ${points.length} trades`}>
    <div ref=${box} class="plot"></div>
    ${points.length < 2 && html`<span class="faint">The price chart begins with the second trade.</span>`}</div>`;
}
