// @vitest-environment happy-dom
/** Overview, drawings, tasks, nodes and settings. */
import { pressViews } from '../press-views.ts';
import { views } from '../views.ts';

pressViews({
  dashboard: views['dashboard-root'],
  drawings: views.drawings,
  tasks: views.tasks,
  nodes: views.nodes,
  audit: views.audit,
  'alert-rules': { ...views['alert-rules'], how: { within: 'main ul' } },
  budgets: { ...views.budgets, how: { within: 'table' } },
  'walk-audit-undo': { ...views['audit-entry'], steps: ['press Undo', 'press Undo'] },
  settings: views.settings,
  'settings-models': { ...views['settings-models'], how: { within: 'form' } },
  'settings-system': { ...views['settings-system'], how: { within: 'form' } },
  'settings-other': { ...views['settings-other'], how: { within: 'form' } },
  'settings-search': views['settings-search'],
});
