// @vitest-environment happy-dom
/** The log, with what many lists have: columns, saved filters, ranges, rows that keys walk through. */
import { pressViews } from '../press-views.ts';
import { sheets, views } from '../views.ts';

pressViews({
  logs: { ...views['logs-root'], how: { common: true, keys: ['j', 'j', 'k', 'Enter', 'Escape', '/', 'Escape'] } },
  'log-served': { ...sheets['log-served'], how: { sheet: true } },
  'log-retried': { ...sheets['log-retried'], how: { sheet: true } },
  'log-refused': { ...sheets['log-refused'], how: { sheet: true } },
});
