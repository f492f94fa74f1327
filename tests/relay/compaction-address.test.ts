import { expect, test } from 'vitest';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { compactionAddress } from '../../server/relay/upstream/compact.ts';

const at = (form: string | null, url: string) =>
  compactionAddress(
    { protocol: 'openai-responses', ...(form === null ? {} : { compaction: { form } }) } as unknown as ParsedRequest,
    url,
  );

test('a conversation is made short beside where it goes on, whatever the address asks', () => {
  expect(at('call', 'https://up/v1/responses')).toBe('https://up/v1/responses/compact');
  expect(at('call', 'https://up/v1/responses?api-version=1&x=?')).toBe(
    'https://up/v1/responses/compact?api-version=1&x=',
  );
  expect(at(null, 'https://up/v1/responses?a=1')).toBe('https://up/v1/responses?a=1');
});
