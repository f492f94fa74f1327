// @vitest-environment happy-dom
/** Channels of the site. */
import { pressViews } from '../press-views.ts';
import { sheets, views } from '../views.ts';

pressViews({
  channels: { ...views.channels, how: { keys: ['j', 'j', 'k', 'x', 'Enter', 'Escape', '/', 'Escape', 'n'] } },
  'channels-tags': views['channels-tags'],
  'channel-add': { ...sheets['channel-add'], how: { sheet: true } },
  'channel-edit': { ...sheets['channel-edit'], how: { sheet: true, sets: ['Add related models'] } },
});
