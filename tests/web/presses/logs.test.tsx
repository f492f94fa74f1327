// @vitest-environment happy-dom
/** The log, with what many lists have: columns, saved filters, ranges, rows that keys walk through. */
import { pressViews } from '../press-views.ts';
import { views } from '../views.ts';

pressViews({
  logs: { ...views['logs-root'], how: { common: true, keys: ['j', 'j', 'k', 'Enter', 'Escape', '/', 'Escape'] } },
});
