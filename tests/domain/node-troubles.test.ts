/** Why a node sells nothing: kept as a code, told in two languages. */
import { expect, test } from 'vitest';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { failureIn, failureOf, reasonIn, reasonText, storageReasons } from '../../server/contract/storage-reasons.ts';
import { readStats } from '../../server/domain/nodes/stats.ts';

const ours = Object.keys(storageReasons).filter((code) => code !== 'storage') as Parameters<typeof reasonText>[0][];
const han = /\p{Script=Han}/u;

test.each(ours)('%s is recognised by its text, and shown in both languages', (code) => {
  const text = reasonText(code, { count: 51_000, thread: 'ledger' });
  const failure = failureOf(text);
  const count = text.includes('51000') ? { count: 51_000 } : {};
  const thread = text.includes('ledger thread') ? { thread: 'ledger' } : {};
  expect(failure).toEqual({ code, params: { ...count, ...thread } });
  if (failure === null) return;
  expect(failureIn(failure, 'en')).toBe(text);
  const chinese = failureIn(failure, 'zh');
  expect(chinese).toMatch(han);
  expect([text, chinese].join()).not.toMatch(/[{}]/);
  expect(chinese.includes('51000')).toBe(text.includes('51000'));
});

test('messages of other programs stay as they are, behind their meaning', () => {
  const failure = failureOf('connect ECONNREFUSED {detail} $1');
  expect(failure).toEqual({ code: 'storage', params: { detail: 'connect ECONNREFUSED {detail} $1' } });
  expect(['zh', 'en'].map((language) => failure && failureIn(failure, language as 'zh'))).toEqual([
    '账目无法写入：connect ECONNREFUSED {detail} $1',
    'the books cannot be written: connect ECONNREFUSED {detail} $1',
  ]);
  expect(failureOf('')).toBeNull();
});

test('the refusal gives the reason in its own language', () => {
  const { code, params } = new AppError('storage_unavailable', { reason: reasonText('ledger_gone') });
  expect(formatError(code, params, 'en')).toBe(
    'Storage is unavailable; billed requests are paused: the ledger is gone',
  );
  expect(formatError(code, params, 'zh')).toBe('存储暂不可用，计费请求已暂停：账本线程已终止');
  expect(reasonIn('disk I/O error', 'zh')).toBe('disk I/O error');
});

test('a code of a newer version is shown as it is', () => {
  expect(failureIn({ code: 'constructor', params: { seconds: 5, of: 'disk' } }, 'zh')).toBe('constructor 5 disk');
});

test.each([
  ['{}', null],
  ['{"trouble":""}', null],
  ['{"trouble":null}', null],
  ['{"trouble":{"code":5}}', null],
  // As an earlier version has written it.
  ['{"trouble":"the ledger is gone"}', { code: 'ledger_gone', params: {} }],
  ['{"trouble":{"code":"crowded","params":{"count":7,"odd":{}}}}', { code: 'crowded', params: { count: 7 } }],
  ['{"trouble":{"code":"newer"}}', { code: 'newer', params: {} }],
])('figures %s say %j', (stats, failure) => {
  expect(readStats(stats).trouble).toEqual(failure);
});
