/** The sentence of a key says what it may do, in both languages. */
import { createInstance, type TFunction } from 'i18next';
import { beforeAll, expect, test } from 'vitest';
import type { Token } from '../../server/contract/entities.ts';
import { summaryOf } from '../../web/features/tokens/key-summary.tsx';
import { requestsFor } from '../../web/features/tokens/model-details.ts';
import { type KeySummary, partsOf, sentenceOf } from '../../web/features/tokens/sentence.ts';
import { relative } from '../../web/lib/format.ts';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';

let words: Readonly<Record<'en' | 'zh', TFunction>>;
beforeAll(async () => {
  const i18n = createInstance();
  await i18n.init({
    resources: { en: { translation: en }, zh: { translation: zh } },
    interpolation: { escapeValue: false },
  });
  words = { en: i18n.getFixedT('en'), zh: i18n.getFixedT('zh') };
});
const none: KeySummary = {
  name: 'ci',
  total: null,
  day: null,
  month: null,
  models: [],
  until: null,
  networks: 0,
  rpm: 0,
  requests: null,
};
const says = (allowance: Partial<KeySummary>, language: 'en' | 'zh' = 'en') =>
  sentenceOf({ ...none, ...allowance }, words[language], language).replaceAll('**', '');

test('a key without limits is said to have none', () => {
  expect(says({})).toBe('ci may spend without a limit of its own on every model.');
  expect(says({ name: '' })).toMatch(/^This key may/);
  expect(says({}, 'zh')).toBe('ci 可对所有模型使用不设自身上限的金额。');
});

test('amount, models, end, networks, rate and what it pays for each stand in the sentence', () => {
  const all = {
    ...{ month: '$5.00', models: ['gpt-4o-mini', 'claude-sonnet-4-5'], until: '23 Dec 2026' },
    ...{ networks: 2, rpm: 60, requests: 1100 },
  };
  expect(says(all)).toBe(
    'ci may spend $5.00 a month on gpt-4o-mini and claude-sonnet-4-5 until 23 Dec 2026, from 2 networks, at most 60 requests a minute: about 1,100 usual requests.',
  );
  expect(says(all, 'zh')).toBe(
    'ci 在 23 Dec 2026 之前可对gpt-4o-mini和claude-sonnet-4-5使用每月 $5.00，仅限 2 个来源地址，每分钟最多 60 次请求，约合 1,100 次通常的请求。',
  );
  expect(says({ networks: 1 })).toContain('from 1 network.');
});

test('limits of several times stand together, many models are counted', () => {
  expect(says({ total: '$50.00', day: '$5.00' })).toContain('$50.00 in all and $5.00 a day');
  expect(says({ models: ['a', 'b', 'c', 'd'] })).toContain('on 4 models.');
});

test('what is emphasised stands apart', () => {
  const parts = partsOf(sentenceOf({ ...none, day: '$1.00', models: ['m'] }, words.en, 'en'));
  expect(parts.filter((_, at) => at % 2 === 1)).toEqual(['$1.00 a day', 'm']);
});

test('the sentence of a stored key follows from its limits', () => {
  const token = {
    ...{ name: 'x', expired_time: -1, remain_quota: 10, unlimited_quota: false, day_budget: 0, month_budget: 7 },
    ...{ model_limits_enabled: false, model_limits: 'kept,but,off', allow_ips: '10.0.0.1\n\n10.0.0.0/8' },
  } as Token;
  expect(summaryOf(token, (quota) => `Q${quota}`, 'en')).toMatchObject({
    ...{ total: 'Q10', day: null, month: 'Q7', models: [], until: null, networks: 2 },
  });
  expect(summaryOf({ ...token, unlimited_quota: true, expired_time: 1_800_000_000 }, String, 'en')).toMatchObject({
    total: null,
    until: '15 Jan 2027',
  });
});

test('how many requests an amount pays for follows from those of the chosen models', () => {
  const facts = [
    { name: 'small', price: '', ms: null, requests: 10, charge: 100 },
    { name: 'large', price: '', ms: null, requests: 10, charge: 1900 },
    { name: 'new', price: '', ms: null, requests: 0, charge: 0 },
  ];
  expect(requestsFor(1000, facts, ['small'])).toBe(100);
  expect(requestsFor(1000, facts, [])).toBe(10);
  expect(requestsFor(1000, facts, ['new'])).toBeNull();
});

test.each([
  [-30, 'now'],
  [-120, '2 min. ago'],
  [-3 * 3600, '3 hr. ago'],
  [23 * 3600, 'in 23 hr.'],
  [6 * 86_400, 'in 6 days'],
  [-21 * 86_400, '21 days ago'],
])('a moment %s seconds away is %s', (away, text) => {
  expect(relative(1_800_000_000 + away, 'en', 1_800_000_000_000)).toBe(text);
});
