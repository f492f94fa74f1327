/** Addresses as the providers' own documents write them. */
import { expect, test } from 'vitest';
import { azureUrl } from '../../server/providers/adapters/azure.ts';
import { sparkEdition } from '../../server/providers/adapters/xunfei.ts';

const base = 'https://acme.openai.azure.com';

test.each([
  ['chat', 'chat/completions'],
  ['completions', 'completions'],
  ['embeddings', 'embeddings'],
  ['images', 'images/generations'],
  ['image_edits', 'images/edits'],
  ['speech', 'audio/speech'],
  ['transcriptions', 'audio/transcriptions'],
  ['translations', 'audio/translations'],
])('Azure: %s of a deployment, by date and below v1', (operation, path) => {
  expect(azureUrl(operation, base, 'gpt-3.5-turbo', '2025-01-01')).toBe(
    `${base}/openai/deployments/gpt-3.5-turbo/${path}?api-version=2025-01-01`,
  );
  expect(azureUrl(operation, base, 'gpt-3.5-turbo', ' v1 ')).toBe(`${base}/openai/v1/${path}`);
});

test('Azure: responses exist below v1 alone, the date has a default, what Azure has not has no address', () => {
  expect(azureUrl('responses', base, 'gpt-4o', '2025-01-01')).toBe(`${base}/openai/v1/responses`);
  expect(azureUrl('chat', base, 'a/b c', '')).toBe(
    `${base}/openai/deployments/a%2Fb%20c/chat/completions?api-version=2024-12-01-preview`,
  );
  expect(azureUrl('chat', base, 'm', 'a&b')).toContain('?api-version=a%26b');
  for (const operation of ['rerank', 'messages', 'generate', ''])
    expect(azureUrl(operation, base, 'gpt-4o', '')).toBeNull();
  expect(azureUrl('chat', '', 'gpt-4o', '')).toBeNull();
});

// iFlytek's list: product, domain, path of the socket.
test.each([
  ['Spark-Lite', 'lite', '/v1.1/chat'],
  ['SparkDesk-v1.1', 'lite', '/v1.1/chat'],
  ['SparkDesk-v2.1', 'generalv2', '/v2.1/chat'],
  ['Spark-Pro', 'generalv3', '/v3.1/chat'],
  ['SparkDesk-v3.1', 'generalv3', '/v3.1/chat'],
  ['generalv3', 'generalv3', '/v3.1/chat'],
  ['Spark-Pro-128K', 'pro-128k', '/chat/pro-128k'],
  ['Spark-Max', 'generalv3.5', '/v3.5/chat'],
  ['Spark-Max-32K', 'max-32k', '/chat/max-32k'],
  ['Spark-4.0-Ultra', '4.0Ultra', '/v4.0/chat'],
  ['x1', 'x1', '/v1/x1'],
  ['SparkDesk', 'generalv2', '/v2.1/chat'],
])('Spark: %s is %s at %s', (model, domain, path) => {
  expect(sparkEdition(model, '')).toEqual({ domain, path });
});

test('Spark: an unknown version is used as written, for the plain name and for others', () => {
  expect(sparkEdition('SparkDesk', 'v9.9')).toEqual({ domain: 'generalv9.9', path: '/v9.9/chat' });
  expect(sparkEdition('mine', 'v3.5')).toEqual({ domain: 'mine', path: '/v3.5/chat' });
  expect(sparkEdition('mine', 'v9.9')).toEqual({ domain: 'mine', path: '/v9.9/chat' });
});
