/** What `get` shows on a terminal, and that pipes read what they read before. */
import { expect, test } from 'vitest';
import type { Context } from '../../cli/context.ts';
import { cardOf } from '../../cli/parts/card.ts';
import { readable } from '../../cli/parts/details.ts';
import type { Money } from '../../cli/parts/money.ts';

const money = { of: (quota: number) => `$${(quota / 500_000).toFixed(2)}` } as unknown as Money;
const token = {
  ...{ id: 7, name: 'laptop', status: 'exhausted', key: 'sk-a…b', used_quota: 500_000, remain_quota: 0 },
  ...{ accessed_time: Math.floor(Date.now() / 1000) - 7200, expired_time: -1, rpm_limit: 0, day_budget: 2_500_000 },
  ...{
    max_input_tokens: 0,
    setting: '{}',
    group: '',
    models: Array.from({ length: 12 }, (_, at) => `model-${at}`).join(','),
  },
};
const at = (isTty: boolean, language: 'zh' | 'en' = 'en', env = { LANG: 'C.UTF-8' }, maxWidth = 80) =>
  cardOf({ output: { isTty, layout: { maxWidth, color: false } }, language, env } as unknown as Context, token, money);

test('a card says what it is and how it stands first, then facts, then what may be spent', () => {
  const lines = at(true);
  expect(lines[0]).toBe('✗  laptop  #7  exhausted');
  const gap = lines.indexOf('');
  expect(lines.slice(1, gap).join('\n')).toMatch(/last used +2h ago\n +expires +never/);
  expect(lines.slice(gap + 1)).toEqual([
    '  used                   $1.00',
    '  remaining              $0.00',
    '  requests a minute      unlimited',
    '  budget a day           $5.00',
  ]);
  expect(lines.join('\n')).not.toMatch(/longest prompt|setting|group/);
});

test('a long list goes on under its beginning, and no line is wider than the window', () => {
  for (const width of [60, 80, 140]) {
    const lines = at(true, 'en', { LANG: 'C.UTF-8' }, width);
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
    expect(lines.join(' ').replace(/ +/g, ' ')).toContain('model-10, model-11');
  }
});

test('words are in the language of the terminal, and the mark is plain where others cannot be drawn', () => {
  expect(at(true, 'zh')[0]).toBe('✗  laptop  #7  已耗尽');
  expect(at(true, 'zh').join('\n')).toMatch(/最近使用 +2 小时前/);
  expect(at(true, 'en', { LANG: 'C' })[0]).toBe('!  laptop  #7  exhausted');
});

test('a pipe reads the names of fields and whole times, as before', () => {
  expect(at(false)).toEqual(readable(token, { language: 'en', money }));
  expect(at(false).join('\n')).toMatch(/^accessed_time +\d{4}-\d\d-\d\dT/m);
});
