// @vitest-environment happy-dom
/** What stands around every page: menu, top bar, palette, keys. */
import { pressViews } from '../press-views.ts';
import { frames } from '../views.ts';

pressViews({
  'frame-guest': { ...frames['frame-guest'], how: { frame: true } },
  'frame-root': {
    ...frames['frame-root'],
    how: { frame: true, keys: ['?', 'Escape', 'g t', 'g l', 'g q', 'Control+k'] },
  },
  'frame-phone': { ...frames['frame-phone'], how: { frame: true } },
});
