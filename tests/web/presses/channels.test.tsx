// @vitest-environment happy-dom
/** Channels of the site. */
import { pressViews } from '../press-views.ts';
import { sheets, views } from '../views.ts';

pressViews({
  channels: { ...views.channels, how: { keys: ['j', 'j', 'k', 'x', 'Enter', 'Escape', '/', 'Escape', 'n'] } },
  'channel-add': sheets['channel-add'],
});
