/** What a failed test of a channel leaves behind. */
import { expect, test } from 'vitest';
import { withTest } from '../../server/domain/channels/failures.ts';
import { createTestGateway } from '../support/gateway.ts';

const failed = { ok: false, message: '429 Rate limit reached' };

test('a failed test is kept until one goes well, beside what was known', () => {
  const before = JSON.stringify({ status_reason: 'no balance', status_time: 5 });
  const after = withTest(before, failed);
  expect(JSON.parse(after)).toEqual({ status_reason: 'no balance', status_time: 5, test_error: failed.message });
  expect(withTest(after, { ok: true, message: '' })).toBe(before);
  expect(withTest('', { ok: true, message: '' })).toBe('');
  expect(JSON.parse(withTest('not JSON', failed))).toEqual({ test_error: failed.message });
});

test('a channel that refuses at once is no fast channel', async () => {
  const gateway = await createTestGateway({ channelTests: true });
  try {
    const channel = await gateway.channel('http://127.0.0.1:9', { models: 'gpt-4o-mini' });
    const result = await gateway.services.channels.test(channel, '', false);
    expect(result.ok).toBe(false);
    const stored = await gateway.services.channels.get(channel);
    expect(stored.response_time).toBe(0);
    expect(JSON.parse(stored.other_info)).toEqual({ test_error: result.message });
  } finally {
    await gateway.close();
  }
});
