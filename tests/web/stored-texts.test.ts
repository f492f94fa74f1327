/** Texts that are stored in Chinese, read in English. */
import { expect, test } from 'vitest';
import { storedIn, storedText, storedTexts } from '../../server/contract/stored-texts.ts';

const details = {
  before: '＄0.020000 额度',
  after: '500 点额度',
  quota: '＄1.500000 额度',
  reason: '退款 (a) $1',
  paid: '10.00',
  id: '7',
  action: 'IMAGINE',
  time: '12.30',
  limit: '5.00',
  model: 'gpt-4o',
};

test.each(Object.keys(storedTexts) as (keyof typeof storedTexts)[])('%s is read in English', (name) => {
  const stored = storedText(name, details);
  expect(storedIn(stored, 'zh')).toBe(stored);
  const english = storedIn(stored, 'en');
  // What a person wrote stays as it is.
  expect(english.replace(details.reason, '')).not.toMatch(/\p{Script=Han}|＄|\{/u);
  expect(english).not.toBe(stored);
});

test('amounts, reasons and other people’s words', () => {
  expect(storedIn('管理员将用户额度从 ＄0.020000 额度 修改为 500 点额度，原因：退款', 'en')).toBe(
    'An administrator changed the quota from $0.020000 to 500 quota: 退款',
  );
  expect(storedIn('上游自己的话', 'en')).toBe('上游自己的话');
  expect(storedIn('a / b', 'en')).toBe('a / b');
  const both = 'The server is busy / 服务繁忙 (request id: 20260101x)';
  expect([storedIn(both, 'en'), storedIn(both, 'zh')]).toEqual([
    'The server is busy (request id: 20260101x)',
    '服务繁忙 (request id: 20260101x)',
  ]);
});
