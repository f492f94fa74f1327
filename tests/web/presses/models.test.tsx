// @vitest-environment happy-dom
/** Models, virtual ones and their prices, and the playground. */
import { pressViews } from '../press-views.ts';
import { views } from '../views.ts';

pressViews({
  playground: views.playground,
  pricing: views['pricing-ratios'],
  'pricing-root': views['pricing-root'],
  model: views.model,
  'virtual-models': { ...views['virtual-models'], how: { within: 'table' } },
  'walk-virtual-models': {
    ...views['virtual-models'],
    steps: ['press More for coder', 'press Delete', 'press Delete'],
  },
});
