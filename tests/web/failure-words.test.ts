import type { TFunction } from 'i18next';
import { expect, test } from 'vitest';
import { failureWords } from '../../web/lib/failure-words.ts';
import { zh } from '../../web/locales/zh.ts';

const t = ((key: string) => zh.logs.reason[key.replace('logs.reason.', '') as 'timeout']) as unknown as TFunction;

test.each([
  ['unreachable ECONNREFUSED: Unable to connect.', `${zh.logs.reason.unreachable}: ECONNREFUSED: Unable to connect.`],
  ['timeout', zh.logs.reason.timeout],
  ['401 Incorrect API key provided', '401 Incorrect API key provided'],
  ['', ''],
])('why a channel failed, noted as %j, is shown in the language of the reader', (words, shown) => {
  expect(failureWords(words, t)).toBe(shown);
});
