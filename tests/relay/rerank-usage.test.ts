import { expect, test } from 'vitest';
import { codecFor } from '../../server/protocols/registry.ts';
import { reportedUsage } from '../../server/relay/admission/meter.ts';
import type { Inquiry } from '../../server/relay/intake/inquiry.ts';

const told = (operation: string, total: unknown) =>
  reportedUsage({ operation } as Inquiry, codecFor('openai-chat').upstream, {
    results: [],
    usage: { total_tokens: total },
  });

test('an answer of a ranking that tells the whole alone: what it read; nothing told is nothing known', () => {
  expect(told('rerank', 7)).toMatchObject({ input: 7, output: 0 });
  for (const none of [0, -1, null, 'many', undefined]) expect(told('rerank', none), String(none)).toBeNull();
  expect(told('embeddings', 7)?.input ?? 0).not.toBe(7);
});
