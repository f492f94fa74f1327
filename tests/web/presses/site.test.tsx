// @vitest-environment happy-dom
/** Overview, drawings, tasks, nodes and settings. */
import { pressViews } from '../press-views.ts';
import { views } from '../views.ts';

pressViews({
  dashboard: views['dashboard-root'],
  drawings: views.drawings,
  tasks: views.tasks,
  nodes: views.nodes,
  settings: views.settings,
  'settings-search': views['settings-search'],
});
