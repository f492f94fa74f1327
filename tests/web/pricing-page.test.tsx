/** The price list as visitors and users are first shown it. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeUser } from '../../web/lib/session.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages());
afterAll(() => vi.unstubAllGlobals());

const list = {
  success: true,
  message: '',
  data: [],
  group_ratio: { default: 1.5, vip: 0.5 },
  usable_group: { default: '', vip: '' },
};
const page = async (user: boolean, path = '/pricing') => {
  writeUser(user ? { ...reader(1), group: 'vip' } : null);
  const { PricingPage } = await import('../../web/features/pricing/pricing-page.tsx');
  return rendered(<PricingPage />, { path, answers: { 'pricing,0': list, 'pricing,7': list } });
};

test('a user sees the own group and its ratio', async () => {
  expect(await page(true)).toMatch(/bg-success-soft[^>]*>[^<]*vip[^<]*0\.5/);
});

test('a reader without a login sees the ratio of the default group', async () => {
  expect(await page(false, '/pricing?view=ratios')).toMatch(/bg-warning-soft[^>]*>[^<]*1\.5/);
  // Beside dollars there is nothing to be warned of.
  const dollars = await page(false);
  expect(dollars).toContain('默认分组的价格');
  expect(dollars).not.toContain('bg-warning-soft');
});

test('everybody sees the formula, and nothing is copied while nothing is selected', async () => {
  const shown = await page(false, '/pricing?view=ratios');
  expect(shown).toMatch(/分组倍率.*模型倍率.*补全倍率/s);
  expect(shown).toMatch(/<button[^>]*disabled[^>]*>.*复制/s);
});
